// Every conversion of printf. A test prints the same with C's own, from the formats and the names of the arguments below.
#include <cstdio>
#define SHOW(...) printf(__VA_ARGS__)
__device__ char s[] = "some text";

__global__ void k(int i, unsigned u, long l, unsigned long long q, short h, char c, double d, float f, const void *p, int w)
{
    SHOW("%d %i %u %x %X %o\n", i, i, u, u, u, u);
    SHOW("%5d|%-5d|%05d|%+d|% d|%+5d|%-+5d|% 05d\n", i, i, i, i, i, i, i, i);
    SHOW("%.3d|%8.3d|%-8.3d|%08.3d|%.0d|%+.4d|%.d\n", i, i, i, i, i, i, i);
    SHOW("%#x|%#X|%#o|%#10x|%#010x|%-#10x|%#.5x|%#.5o\n", u, u, u, u, u, u, u, u);
    SHOW("%10u|%-10u|%010u|%.12u|%.0u\n", u, u, u, u, u);
    SHOW("%ld %li %lu %lx %lX %lo|%20ld|%-20ld|%020ld|%+ld\n", l, l, l, l, l, l, l, l, l, l);
    SHOW("%lld %llu %llx %llX %llo|%#llx|%25llu|%-25llu\n", q, q, q, q, q, q, q, q);
    SHOW("%hd %hi %hu %hx %hX %ho|%8hd|%-8hd\n", h, h, h, h, h, h, h, h);
    SHOW("%c|%5c|%-5c|%c%c\n", c, c, c, c, c);
    SHOW("%s|%15s|%-15s|%.4s|%10.4s|%-10.4s|%.0s|%.s\n", s, s, s, s, s, s, s, s);
    SHOW("%p|%20p|%-20p|\n", p, p, p);
    SHOW("%f %F %e %E %g %G\n", d, d, d, d, d, d);
    SHOW("%a %A|%.3a|%.0a|%#.0a|%20a|%-25a|%025a|%+a|%.20a\n", d, d, d, d, d, d, d, d, d, d);
    SHOW("%10.3f|%-10.3f|%010.3f|%+.2f|% .2f|%#.0f|%.0f|%.15f\n", d, d, d, d, d, d, d, d);
    SHOW("%14.3e|%-14.3e|%014.3e|%+.2e|% .2e|%#.0e|%.0e|%.20e\n", d, d, d, d, d, d, d, d);
    SHOW("%14.3g|%-14.3g|%014.3g|%+.2g|% .2g|%#g|%.0g|%.17g|%#.3g\n", d, d, d, d, d, d, d, d, d);
    SHOW("%f %e %g %a %.9g\n", f, f, f, f, f);
    SHOW("%*d|%-*d|%.*d|%*.*f|%*s\n", w, i, w, i, w, i, w, w, d, w, s);
    SHOW("%%|%d%%\n", i);
    SHOW("%d %f %d %s %c %lld %hd %g\n", i, d, w, s, c, q, h, d);
    SHOW("nothing\n");
}
