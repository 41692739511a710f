"""Why the driver comes back to the host, and what waiters wait for: numbers that both engines share."""

from ptxspec.machine.events import EventKind

#: the grid is done, or: a thread broke a rule by an instruction; the engine's own data are wrong; there were too many steps; a
#: thread waits against a rule; threads wait that nothing can release; threads ask images or the system; the host may look at
#: the clock; the host must empty the memory of the CTAs, or note or give choices; a thread was chosen that cannot run; an
#: operation completes on an object against a rule
DONE, FAULT, BROKEN, LIMIT, MISUSE, STUCK, ASK, PAUSE, RENEW, CHOOSE, UNABLE, COMPLETION = range(12)
#: no thread can run, or the steps of this round are spent
IDLE, OUT = 0, -1

#: what stage a launch is in: no CTAs are resident; their memory is empty; they run; the host is asked; it has answered
NEW, EMPTIED, RUNNING, ASKING, ANSWERED = range(5)

#: what the host does with the memory of CTAs before they begin: nothing, it empties it, or it fills that and the registers
LEAVES, EMPTIES, FILLS = range(3)

#: the state of a waiter: it does not wait, or it waits at a barrier of its CTA or of its cluster, for lanes that a mask names,
#: for whoever comes, for all lanes of its warp, for the other warps of a group, or for an object in memory
NOT_WAITING, CTA_BARRIER, CLUSTER_BARRIER, MASKED_GROUP, UNMASKED, ALL_LANES, WARP_GROUP, OBJECT = range(8)
#: what threads wait for at an instruction: nothing, a barrier or an object, as above, an answer of the host, or lanes of their
#: warp
HOST, WARP = 8, 9
#: the step by which a rule was broken
CTA_ARRIVES, JOINS, CLUSTER_ARRIVES, CLUSTER_WAITS, MEETS, WARPS_MEET = range(6)

#: who chooses whose turn it is: nobody, a seed, or a list
IN_TURNS, DRAWN, LISTED = range(3)
#: choices that the machine notes, or is given, between two visits of the host
CHOICES = 1024
#: more steps than a launch can have
NO_LIMIT = 1 << 62
#: the events of which the driver tells
ARRIVE, COMPLETE, RELEASE = (int(k) for k in (EventKind.ARRIVE, EventKind.COMPLETE, EventKind.RELEASE))
#: what is known of an arrival at an instruction: nothing; what each thread gives; and that the whole CTA takes part
UNKNOWN, FIXED, WHOLE_CTA = range(3)
