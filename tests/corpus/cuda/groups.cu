#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *x)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = x[block.thread_rank()];
    for (int i = tile.size() / 2; i; i /= 2) v += tile.shfl_down(v, i);
    block.sync();
    if (tile.thread_rank() == 0) x[block.thread_rank()] = v;
    auto active = cg::coalesced_threads();
    if (v > 3) x[active.thread_rank()] = tile.any(v == 5) + tile.ballot(v > 4);
}
