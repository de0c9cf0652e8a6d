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
  } else {
    for (int k = 0; k < args.k; ++k) {
      full_barriers[stage]->wait(phase);
      empty_barriers[stage]->arrive();
    }
  }
}
"""

#: Two warpgroups that overlap, or do not, and take turns: both modes by a switch.
TURNS = """
struct CollectiveTwoModes {
  CUTLASS_DEVICE void turn() {
    if constexpr (UseSchedulerBarrier) {
      int const mine = canonical_warp_group_idx();
      cutlass::arch::NamedBarrier::sync(256, static_cast<uint32_t>(Barriers::SchedulerOne) - 1 + mine);
    }
  }
  CUTLASS_DEVICE void hand_on() {
    if constexpr (UseSchedulerBarrier) {
      int const mine = canonical_warp_group_idx() - 1;
      cutlass::arch::NamedBarrier::arrive(256, static_cast<uint32_t>(Barriers::SchedulerOne) + (1 - mine));
    }
  }
  template <class Pipe, class State, class Storage>
  CUTLASS_DEVICE void load(Params const& params, Pipe pipeline_k, Pipe pipeline_v, State& smem_pipe_write,
                           Storage& storage, int& work_idx) {
    auto [n_block_min, n_block_max] = Blocks::range(params);
    if constexpr (Is_causal || Varlen) { if (n_block_max <= n_block_min) { return; } }
    auto load_K = [&](int n, auto const& state) {
      pipeline_k.producer_acquire(state);
      copy(params.tma_load_K.with(*pipeline_k.producer_get_barrier(state)), gK(_, n), sK(_, state.index()));
    };
    auto load_V = [&](int n, auto const& state) {
      pipeline_v.producer_acquire(state);
      copy(params.tma_load_V.with(*pipeline_v.producer_get_barrier(state)), gV(_, n), sV(_, state.index()));
    };
    int n_block = n_block_max - 1;
    load_K(n_block, smem_pipe_write);
    cutlass::arch::NamedBarrier::sync(288, static_cast<uint32_t>(Barriers::QueryEmpty));
    storage.barrier_Q.arrive_and_expect_tx(bytes);
    copy(params.tma_load_Q.with(reinterpret_cast<Bar&>(storage.barrier_Q), 0), gQ, sQ);
    storage.barrier_O.wait((work_idx + 1) % 2);
    if constexpr (!IntraWGOverlap) { load_V(n_block, smem_pipe_write); }
    --n_block;
    for (; n_block >= n_block_min; --n_block) {
      PipelineState behind = smem_pipe_write;
      ++smem_pipe_write;
      load_K(n_block, smem_pipe_write);
      if constexpr (IntraWGOverlap) { load_V(n_block + 1, behind); }
      else { load_V(n_block, smem_pipe_write); }
    }
    if constexpr (IntraWGOverlap) { load_V(0, smem_pipe_write); }
    ++smem_pipe_write;
    ++work_idx;
  }
  template <class Pipe, class State, class Storage, class Softmax>
  CUTLASS_DEVICE bool mma(Params const& params, Pipe pipeline_k, Pipe pipeline_v, State& smem_pipe_read,
                          Storage& storage, Softmax& softmax, int thread_idx, int& work_idx) {
    auto consumer_wait = [](auto& pipe, auto& state) {
      auto token = pipe.consumer_try_wait(state);
      pipe.consumer_wait(state, token);
    };
    auto [n_block_min, n_block_max] = Blocks::range(params);
    int n_block = n_block_max - 1;
    int group = __shfl_sync(0xffffffff, thread_idx / 128, 0);
    storage.barrier_Q.wait(work_idx % 2);
    if constexpr (IntraWGOverlap) {
      consumer_wait(pipeline_k, smem_pipe_read);
      flash::gemm</*zero=*/true, /*wait=*/-1>(tiled_mma_qk, q, k, s);
      warpgroup_wait<0>();
      pipeline_k.consumer_release(smem_pipe_read);
      softmax.template online_softmax<true>(s);
      --n_block;
      auto step = [&](int n) {
        PipelineState behind(smem_pipe_read.index(), smem_pipe_read.phase(), smem_pipe_read.count());
        ++smem_pipe_read;
        if (!UseSchedulerBarrier || group == 0) { consumer_wait(pipeline_k, smem_pipe_read); }
        turn();
        flash::gemm<true, -1>(tiled_mma_qk, q, k, s);
        if (!UseSchedulerBarrier || group == 0) { consumer_wait(pipeline_v, behind); }
        flash::gemm<false, -1>(tiled_mma_pv, p, v, o);
        hand_on();
        warpgroup_wait<1>();
        pipeline_k.consumer_release(smem_pipe_read);
        softmax.template online_softmax<false>(s);
        warpgroup_wait<0>();
        pipeline_v.consumer_release(behind);
        softmax.rescale_o(o, scale);
      };
      for (; n_block >= n_block_min; --n_block) { step(n_block); }
      cutlass::arch::NamedBarrier::arrive(288, static_cast<uint32_t>(Barriers::QueryEmpty));
      consumer_wait(pipeline_v, smem_pipe_read);
      flash::gemm<false, -1>(tiled_mma_pv, p, v, o);
      warpgroup_wait<0>();
      pipeline_v.consumer_release(smem_pipe_read);
      ++smem_pipe_read;
    } else {
      turn();
      auto step = [&](int n, auto first_type) {
        static constexpr bool First = decltype(first_type)::value;
        if constexpr (!First) { ++smem_pipe_read; }
        consumer_wait(pipeline_k, smem_pipe_read);
        flash::gemm<true, -1>(tiled_mma_qk, q, k, s);
        hand_on();
        warpgroup_wait<0>();
        pipeline_k.consumer_release(smem_pipe_read);
        softmax.template online_softmax<First>(s);
        consumer_wait(pipeline_v, smem_pipe_read);
        turn();
        flash::gemm<First, -1>(tiled_mma_pv, p, v, o);
        warpgroup_wait<0>();
        pipeline_v.consumer_release(smem_pipe_read);
      };
      step(n_block, cute::true_type{});
      --n_block;
      for (; n_block >= n_block_min; --n_block) { step(n_block, cute::false_type{}); }
      hand_on();
      cutlass::arch::NamedBarrier::arrive(288, static_cast<uint32_t>(Barriers::QueryEmpty));
      ++smem_pipe_read;
    }
    ++work_idx;
    return true;
  }
};
"""

#: A kernel layer that parts its warps by warpgroup, around the loads and MMAs of :data:`TURNS`.
KERNEL = """
template <class CollectiveMainloop, class TileScheduler>
struct SmallKernel {
  CUTLASS_DEVICE void operator()(Params const& params, char* smem) {
    int warp_group_idx = cutlass::canonical_warp_group_idx();
    typename CollectiveMainloop::PipelineK pipeline_k(storage.k, params_k);
    typename CollectiveMainloop::PipelineV pipeline_v(storage.v, params_v);
    CollectiveMainloop mainloop;
    TileScheduler scheduler;
    if (warp_group_idx == 0) {
      PipelineState smem_pipe_write = cutlass::make_producer_start_state<PipelineK>();
      int work_idx = 0;
      for (auto tile = scheduler.first(); tile.is_valid(params); tile = scheduler.next(tile)) {
        if (tile.outside() >= params.length) { continue; }
        mainloop.load(params, pipeline_k, pipeline_v, smem_pipe_write, storage, work_idx);
      }
      pipeline_k.producer_tail(smem_pipe_write);
      pipeline_v.producer_tail(smem_pipe_write);
    } else {
      PipelineState smem_pipe_read;
      int work_idx = 0;
      cutlass::arch::NamedBarrier::arrive(288, static_cast<uint32_t>(Barriers::QueryEmpty));
      if constexpr (UseSchedulerBarrier) {
        if (warp_group_idx == 1) {
          cutlass::arch::NamedBarrier::arrive(256, static_cast<uint32_t>(Barriers::SchedulerOne));
        }
      }
      for (auto tile = scheduler.first(); tile.is_valid(params); tile = scheduler.next(tile)) {
        if (tile.outside() >= params.length) { continue; }
        mainloop.mma(params, pipeline_k, pipeline_v, smem_pipe_read, storage, softmax,
                     threadIdx.x - 128, work_idx);
        cutlass::arch::NamedBarrier::sync(256, static_cast<uint32_t>(Barriers::Epilogue));
        if (warp_group_idx == 2) {
          tma_store_copy(params);
          cute::copy(params.tma_store_O, sO, gO);
          tma_store_wait<0>();
          storage.barrier_O.arrive(0);
        }
      }
    }
  }
};
"""
