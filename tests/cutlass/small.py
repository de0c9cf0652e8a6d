"""Small pipeline headers of the project's own: a right one, and one for each kind of finding."""

from __future__ import annotations

HEAD = """
template <int Stages_, class Shape>
struct CollectiveSmall {
  static constexpr int K_PIPE_MMAS = 1;
  using MainloopPipeline = cutlass::PipelineTmaAsync<Stages_>;
  using PipelineState = cutlass::PipelineState<Stages_>;
"""
LOAD = """
  template <class Params>
  CUTLASS_DEVICE void
  load(Params const& params, MainloopPipeline pipeline, PipelineState smem_pipe_write, int k_tile_count) {
    for ( ; k_tile_count > 0; --k_tile_count) {
      pipeline.producer_acquire(smem_pipe_write);
      auto* tma_barrier = pipeline.producer_get_barrier(smem_pipe_write);
      copy(params.tma_load_a.with(*tma_barrier), gA, sA);
      copy(params.tma_load_b.with(*tma_barrier), gB, sB);
      ++smem_pipe_write;
    }
  }
  CUTLASS_DEVICE void load_tail(MainloopPipeline pipeline, PipelineState smem_pipe_write) {
    pipeline.producer_tail(smem_pipe_write);
  }
"""
MMA = """
  template <class Accum>
  CUTLASS_DEVICE void
  mma(MainloopPipeline pipeline, PipelineState smem_pipe_read, Accum& accum, int k_tile_count) {
    PipelineState smem_pipe_release = smem_pipe_read;
    int prologue = min(K_PIPE_MMAS, k_tile_count);
    for (int i = 0; i < prologue; ++i) {
      pipeline.consumer_wait(smem_pipe_read);
      cute::gemm(tiled_mma, a, b, accum);
      ++smem_pipe_read;
    }
    k_tile_count -= prologue;
    for ( ; k_tile_count > 0; --k_tile_count) {
      pipeline.consumer_wait(smem_pipe_read);
      cute::gemm(tiled_mma, a, b, accum);
      warpgroup_wait<K_PIPE_MMAS>();
      pipeline.consumer_release(smem_pipe_release);
      ++smem_pipe_read;
      ++smem_pipe_release;
    }
  }
"""
TAIL = """
  CUTLASS_DEVICE void
  mma_tail(MainloopPipeline pipeline, PipelineState smem_pipe_release, int k_tile_count) {
    int prologue = min(K_PIPE_MMAS, k_tile_count);
    smem_pipe_release.advance(k_tile_count - prologue);
    warpgroup_wait<0>();
    for (int i = 0; i < prologue; ++i) {
      pipeline.consumer_release(smem_pipe_release);
      ++smem_pipe_release;
    }
  }
"""
GOOD = f"{HEAD}{LOAD}{MMA}{TAIL}}};\n"

RELEASE = "      pipeline.consumer_release(smem_pipe_release);\n      ++smem_pipe_read;"

TAKE = "      pipeline.consumer_release"

#: finding: a header with that defect
BROKEN = {
    "release-before-retire": GOOD.replace("      warpgroup_wait<K_PIPE_MMAS>();\n", ""),
    "unbalanced": GOOD.replace(f"prologue; ++i) {{\n{TAKE}", f"0; ++i) {{\n{TAKE}"),
    "arrival-count": GOOD.replace(RELEASE, f"      pipeline.consumer_release(smem_pipe_release);\n{RELEASE}"),
    "deadlock": GOOD.replace("pipeline.consumer_release(smem_pipe_release);", ""),
    "late-release": GOOD.replace("warpgroup_wait<K_PIPE_MMAS>();", "warpgroup_wait<0>();"),
}  # fmt: skip

ATTENTION = """
struct CollectiveMainloopFwd {
  template <class Pipe, class PipeV, class State, class Softmax>
  CUTLASS_DEVICE void load(Params const& params, Pipe pipeline_k, PipeV pipeline_v,
                           State& smem_pipe_write, int n_block_max) {
    for (int n_block = n_block_max - 1; n_block >= 0; --n_block) {
      pipeline_k.producer_acquire(smem_pipe_write);
      copy(params.tma_load_K.with(*pipeline_k.producer_get_barrier(smem_pipe_write)), gK, sK);
      pipeline_v.producer_acquire(smem_pipe_write);
      copy(params.tma_load_V.with(*pipeline_v.producer_get_barrier(smem_pipe_write)), gV, sV);
      ++smem_pipe_write;
    }
  }
  template <class Pipe, class PipeV, class State, class Softmax>
  CUTLASS_DEVICE void mma(Params const& params, Pipe pipeline_k, PipeV pipeline_v,
                          State& smem_pipe_read, Softmax& softmax, int n_block_max) {
    auto step = [&](int n_block) {
      pipeline_k.consumer_wait(smem_pipe_read);
      flash::gemm<true, -1>(tiled_mma0, tSrQ, tSrK, tSrS);
      warpgroup_wait<0>();
      pipeline_k.consumer_release(smem_pipe_read);
      softmax.online(tSrS);
      pipeline_v.consumer_wait(smem_pipe_read);
      flash::gemm<false, -1>(tiled_mma1, tOrP, tOrV, tOrO);
      warpgroup_wait<0>();
      pipeline_v.consumer_release(smem_pipe_read);
      ++smem_pipe_read;
    };
    for (int n_block = n_block_max - 1; n_block >= 0; --n_block) { step(n_block); }
  }
};
"""

RAW = """
__global__ void gemm(Args args) {
  if (warp_idx == 0 && elect_one_sync()) {
    for (int k = 0; k < args.k; ++k) {
      empty_barriers[stage]->wait(phase ^ 1);
      tma_copy(&args.a, full_barriers[stage]);
      full_barriers[stage]->arrive_and_expect_tx(bytes);
    }
  } else if (warp_idx >= 4) {
    for (int k = 0; k < args.k; ++k) {
      full_barriers[stage]->wait(phase);
      empty_barriers[stage]->arrive();
    }
  }
}
"""
