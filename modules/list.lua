-- SPDX-License-Identifier: Apache-2.0
-- The schedule modules that come with Tessera, a file of this folder each.
return {
  "add_rfactor", "apply_custom_rule", "auto_bind", "auto_inline",
  "block_factorization", "cache_tile", "column_vectors",
  "cross_thread_reduction",
  "fuse_epilogue", "inline_constant_scalars",
  "multi_level_tiling", "multi_level_tiling_wide_vector",
  "multi_level_tiling_with_intrin", "online_softmax", "pack",
  "parallel_vectorize_unroll", "random_compute_location", "register_tile",
  "row_vectors", "stage_transposed", "use_amx", "use_dae", "use_dots",
  "use_mma", "use_tensor_core", "winograd",
}
