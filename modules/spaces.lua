-- SPDX-License-Identifier: Apache-2.0
-- Finds modules by name, and has the default space of each kind of target;
-- stdlib/ loads it on first use.
local ts = require "tessera"
local intrin = require "tessera.intrin"
local names = require "tessera.lang.names"
local spaces = {}

-- The schedule modules that come with Tessera.
spaces.modules = require "tessera.modules.list"

-- The schedule module of this name, and its file: of those here, else one in a
-- folder modules/ of the user's; nil where the file of that name is none.
function spaces.find(name)
  for _, prefix in ipairs { "tessera.modules.", "modules." } do
    local path = names.path(prefix .. name)
    if path then
      local m = require(prefix .. name)
      return type(m) == "table" and m.parameters and m or nil, path
    end
  end
end

local function use(name, parameters)
  return require("tessera.modules." .. name)(parameters)
end

-- Sums of four products of bytes by one instruction, where the target has it:
-- VNNI, or SDOT, UDOT and USDOT.  VNNI does signed ones by an offset for each
-- element of A, of which fewer are made in wide tiles.
local function byte_dots(target)
  local list = {}
  for _, types in ipairs { "u8u8", "s8s8", "u8s8" } do
    local name = intrin.dot(target, types)
    if name and (name:find "vnni" or name:find "[su]dot$") then
      local vectors = name:find "vnni_s8s8" and { 2, 4 } or { 2 }
      list[#list + 1] = use("use_dots", { types = types, vectors = vectors })
    end
  end
  return list
end

-- Processors with vectors: tiles that fill the vector registers, inside one
-- level of tiles for the caches, with what they walk packed; and MetaSchedule's
-- tiles of any size.  Sums of bytes come first.
local function cpu(target)
  local list = {
    use "apply_custom_rule", use "block_factorization",
    use "inline_constant_scalars",
    use("auto_inline", { keep = true, rows = true }),
    use("add_rfactor", { tree = true, together = true, along = true,
                         outer_rows = 4, outer_from = 1 << 20 }),
    use "row_vectors",
    use("register_tile", {
      structure = "SRSRS", vectors = { 2, 4 }, write_levels = { 1 },
      max_innermost_factor = 1024, pack = true, must = false, few_from = 2,
    }),
    use("pack", { copies = false, must = true }), use "multi_level_tiling",
    use "column_vectors",
    use("random_compute_location", { open = false, fuse = true,
                                     together = true,
                                     sums_from = 1 << 14 }),
    use "parallel_vectorize_unroll",
  }
  for _, dots in ipairs(byte_dots(target)) do table.insert(list, 6, dots) end
  if target:has "amx-int8" or target:has "amx-bf16" then
    table.insert(list, 6, use "use_amx")
  end
  return list
end

-- Processors by OpenCL: as above, a block of one thread for each parallel
-- iteration, since barriers within blocks and copies to what is no faster
-- memory cost more than they gain; the thread's code is tiles of vectors, with
-- what blocks of threads must not share in its private memory.
local function opencl_cpu()
  return {
    use "apply_custom_rule", use "inline_constant_scalars",
    use("auto_inline", { keep = true, rows = true }), use "add_rfactor",
    use("register_tile", {
      structure = "SRSRS", vectors = { 2, 4 }, write_levels = { 1 },
      max_innermost_factor = 1024, pack = true, must = false, few_from = 2,
      write_scope = "local", pack_scope = "local",
    }),
    use("pack", { copies = false, must = true }),
    use("multi_level_tiling", { write_scope = "local" }),
    use("parallel_vectorize_unroll", { axis = "blockIdx.x" }),
  }
end

-- Those numbers of threads that a block may have, or the most.
local function at_most(most, numbers)
  local list = {}
  for _, n in ipairs(numbers) do
    if n <= most then list[#list + 1] = n end
  end
  return list[1] and list or { most }
end

-- GPUs: results in registers, operands in shared memory; with `unstaged` also
-- sketches that read them from global memory, since some devices have shared
-- memory by name only; with `stages` also such whose copies are asynchronous,
-- ahead of their use.  `most`: threads that a block may have.
local function gpu(most, unstaged, stages)
  return {
    use "apply_custom_rule", use "inline_constant_scalars", use "auto_inline",
    use("multi_level_tiling", {
      structure = "SSSRRSRS",
      tile_binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
      write_levels = { 3 }, write_scope = "local", write_must = true,
      read_levels = { 4 }, read_scope = "shared", read_must = not unstaged,
      vector_load_lens = { 1, 2, 4, 8, 16 },
      threads_per_block = { math.min(32, most), math.min(512, most) },
      stages = stages,
    }),
    use("auto_inline", { into_producer = true }),
    use("cross_thread_reduction", {
      max_threads = most, vector_lens = { 1, 2, 4 },
      rows = most < 32 and {} or at_most(most // 32, { 4, 8, 16, 32 }),
      thread_extents = at_most(most, { 4, 8, 16, 32, 64, 128, 256, 512 }) }),
    use("stage_transposed", { max_threads = most }),
    use("auto_bind", {
      max_threads = most, vector_lens = { 1, 2, 4, 8 },
      thread_extents = at_most(most, { 32, 64, 128, 256, 512, 1024 }) }),
  }
end

-- What tensor cores multiply before sm_80, which also has bfloat16.
local EARLY = { "f16f16f16", "f16f16f16_trans", "f16f16f32", "f16f16f32_trans",
                "s8s8s32", "s8s8s32_trans" }

-- GPUs with tensor cores, which do what they can, from sm_80 on also by
-- mma.sync; the rest is as on others.
local function tensor_cores(is_early)
  local list = gpu(1024, false, not is_early and { 3, 4 } or nil)
  local p = { tensorize = true, threads_per_block = { 2, 8 } }
  if is_early then p.groups = EARLY end
  table.insert(list, 1, use("use_tensor_core", p))
  if not is_early then
    table.insert(list, 1, use("use_mma", { must = false }))
  end
  return list
end

-- MetaSchedule's rules for processors, in its order and with its parameters,
-- but for parallel loops, vectors and unrolling: a space to compare with.
function spaces.metaschedule()
  return {
    use "apply_custom_rule", use "inline_constant_scalars",
    use("auto_inline", { keep = true }), use "add_rfactor",
    use "multi_level_tiling", use "random_compute_location",
  }
end

-- The compute capability that a text as "cuda -arch=sm_80" gives.
local function capability(text)
  return tonumber(text:match "%-arch=sm_(%d+)" or
                  text:match "%-mcpu=sm_(%d+)") or 0
end

-- The modules for a target, given as text or as such: a list of instances;
-- nil where there is no default space.
function spaces.modules_for(target)
  local text = tostring(target)
  local kind = text:match "^%S+"
  if kind == "llvm" then
    return cpu(type(target) == "string" and ts.target(target) or target)
  end
  if kind == "opencl" then
    if (text .. " "):find(" -model=cpu ", 1, true) then return opencl_cpu() end
    return gpu(ts.target(text):get "max-threads-per-block", true)
  end
  if kind == "dae" then return { use "use_dae" } end
  if kind == "cuda" then
    -- The card of this machine, where there is one.
    local ok, here = pcall(ts.target, text)
    local n = capability(ok and tostring(here) or text)
    return n >= 75 and tensor_cores(n < 80) or gpu(1024)
  end
end

-- nil where there is none.
function spaces.default(target)
  local list = spaces.modules_for(target)
  return list and ts.space.compose(list)
end

return spaces
