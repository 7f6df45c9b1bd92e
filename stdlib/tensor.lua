-- SPDX-License-Identifier: Apache-2.0
-- Tensor intrinsics and what helps to use them.
local ts = require "tessera"
local tensor = {}

local declared = setmetatable({}, { __mode = "k" })

-- Declares an intrinsic once in this context; gives its name.
local function declare(name, make)
  if not declared[name] then
    local desc, impl = make()
    declared[name] = ts.tensor_intrin{ name = name, desc = desc, impl = impl }
  end
  return name
end

-- C[i, j] = C[i, j] + A[i, k] * B[k, j] over a tile; without `m` it has no i.
-- `trans`: of B[j, k].  `scopes`: of A, B and C.
local function product(o)
  local b = ts.builder("product")
  local rows = o.m and { o.m } or {}
  local scopes = o.scopes or {}
  local A = b:input("A", o.m and { o.m, o.k } or { o.k }, o.dtype, scopes[1])
  local B = b:input("B", o.trans and { o.n, o.k } or { o.k, o.n },
                    o.dtype_b or o.dtype, scopes[2])
  local C = b:inout("C", o.m and { o.m, o.n } or { o.n }, o.acc, scopes[3])
  local function body(i, j, k)
    b:block("C", o.m and {
      { "vi", extent = o.m, bind = i }, { "vj", extent = o.n, bind = j },
      { "vk", "reduce", extent = o.k, bind = k } } or {
      { "vj", extent = o.n, bind = j },
      { "vk", "reduce", extent = o.k, bind = k } },
      function(x, y, z)
        local vi, vj, vk = x, y, z
        if not o.m then vi, vj, vk = nil, x, y end
        local a = o.m and A(vi, vk) or A(vk)
        local w = o.trans and B(vj, vk) or B(vk, vj)
        if o.acc ~= o.dtype then
          a, w = ts.cast(a, o.acc), ts.cast(w, o.acc)
        end
        local at = o.m and { vi, vj } or { vj }
        b:store(C, at, C(table.unpack(at)) + a * w)
      end)
  end
  local function columns(i)
    b:loop("j", 0, o.n, function(j)
      b:loop("k", 0, o.k, function(k) body(i, j, k) end)
    end)
  end
  if o.m then b:loop("i", 0, o.m, columns) else columns() end
  return b:program()
end

-- The product of a tile as a CPU does it: a vector of columns at a time.
local function by_columns(desc, o)
  local sch = ts.schedule(desc)
  local c = sch:get_block("C")
  local l = table.pack(sch:get_loops(c))
  local k, j = l[#l], l[#l - 1]
  if o.m then sch:reorder(k, l[1], j) else sch:reorder(k, j) end
  if o.m then sch:unroll(l[1]) end
  sch:unroll(k)
  sch:vectorize(j)
  return sch:program()
end

-- tensor.mma{ [m =,] n =, k = [, dtype = "float32"] [, acc = dtype]
--             [, trans = false] }: C += A * B of a tile, by vectors.
function tensor.mma(o)
  o = { m = o.m, n = o.n, k = o.k, dtype = o.dtype or "float32",
        acc = o.acc or o.dtype or "float32", trans = o.trans }
  local name = string.format("mma_%s%dx%d_%s_%s%s", o.m and o.m .. "x" or "",
                             o.n, o.k, o.dtype, o.acc, o.trans and "_t" or "")
  return declare(name, function()
    local desc = product(o)
    return desc, by_columns(desc, o)
  end)
end

-- The dot products of TVM's x86 intrinsics: 16 rows of four bytes each, with
-- four bytes; unsigned by signed, added to int32.  One instruction where the
-- target (a text or a target; nil: this machine) has it, and vectors of
-- columns elsewhere; the name tells which.
function tensor.dot_16x4(target)
  local o = { n = 16, k = 4, dtype = "uint8", dtype_b = "int8", acc = "int32",
              trans = true }
  if not target or type(target) == "string" then
    target = ts.target(target or "llvm")
  end
  if target:has "avx512vnni" then
    return declare("dot_16x4_vnni", function()
      return product(o),
        "C = llvm.x86.avx512.vpdpbusd.512(C, int32x16(A), int32(B))"
    end)
  end
  return declare("dot_16x4", function()
    local desc = product(o)
    return desc, by_columns(desc, o)
  end)
end

-- ---- tensor cores: what a warp does with fragments of matrices -------------

local types = { f16 = "float16", f32 = "float32", s8 = "int8", s32 = "int32" }
local memory = { shared = "shared", shared_dyn = "shared.dyn",
                 global = "global" }
local fragment = { a = "wmma.matrix_a", b = "wmma.matrix_b",
                   acc = "wmma.accumulator" }
local size = "16x16x16"

-- to[i, j] = value, over a tile; `from`, where given, is of this scope.
local function tile_of(dtype, from, to)
  local b = ts.builder("tile")
  local A = from and b:input("A", { 16, 16 }, dtype, from)
  local C = b:output("C", { 16, 16 }, dtype, to)
  b:loop("i", 0, 16, function(i)
    b:loop("j", 0, 16, function(j)
      b:block("C", { { "vi", extent = 16, bind = i },
                     { "vj", extent = 16, bind = j } },
        function(vi, vj)
          b:store(C, { vi, vj }, A and A(vi, vj) or ts.const(0, dtype))
        end)
    end)
  end)
  return b:program()
end

-- name -> function that gives the description
local wmma = {}
for _, t in ipairs{ "f16", "s8" } do
  for _, operand in ipairs{ "a", "b" } do
    for _, trans in ipairs{ "", "_trans" } do
      for _, from in ipairs{ "shared", "shared_dyn" } do
        wmma["wmma_load_" .. size .. "_" .. t .. "_" .. operand .. trans ..
             "_" .. from] = function()
          return tile_of(types[t], memory[from], fragment[operand])
        end
      end
    end
  end
end
for kind, t in pairs{ f16f16f32 = { "f16", "f32" },
                      f16f16f16 = { "f16", "f16" },
                      s8s8s32 = { "s8", "s32" } } do
  for _, trans in ipairs{ "", "_trans" } do
    wmma["wmma_sync_" .. size .. "_" .. kind .. trans] = function()
      return product{ m = 16, n = 16, k = 16, dtype = types[t[1]],
                      acc = types[t[2]], trans = trans ~= "",
                      scopes = { fragment.a, fragment.b, fragment.acc } }
    end
  end
end
for _, t in ipairs{ "f32", "f16", "s32" } do
  wmma["wmma_fill_" .. size .. "_" .. t] = function()
    return tile_of(types[t], nil, fragment.acc)
  end
  for to, scope in pairs(memory) do
    wmma["wmma_store_" .. size .. "_" .. t .. "_" .. to] = function()
      return tile_of(types[t], fragment.acc, scope)
    end
  end
end

-- The names of the intrinsics of tensor cores, sorted.
function tensor.wmma_names()
  local names = {}
  for name in pairs(wmma) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Declares one of them: all lanes of a warp do together what it describes.
function tensor.wmma(name)
  local describe = wmma[name]
  if not describe then
    error("there is no intrinsic '" .. tostring(name) .. "'", 2)
  end
  return declare(name, function()
    local desc = describe()
    local sch = ts.schedule(desc)
    sch:annotate(sch:get_block("root"), "warp_execution", 1)
    return desc, sch:program()
  end)
end

-- ---- tiles ------------------------------------------------------------------

-- Splits the loops of a block so that its last iters make up tiles of these
-- sizes (innermost last), moves the tiles inside and gives the outermost loop
-- of them: what tensorize takes.  nil and the reason where a size does not
-- divide an extent.
function tensor.tile(sch, block, sizes)
  local loops = table.pack(sch:get_loops(block))
  local first = #loops - #sizes
  if first < 0 then return nil, "the block has fewer loops" end
  local outer, inner = {}, {}
  for i, size in ipairs(sizes) do
    local ok, a, b = pcall(sch.split, sch, loops[first + i],
                           { ts.auto, size })
    if not ok then return nil, a.message end
    outer[#outer + 1], inner[#inner + 1] = a, b
  end
  for _, l in ipairs(inner) do outer[#outer + 1] = l end
  local ok, e = pcall(sch.reorder, sch, table.unpack(outer))
  if not ok then return nil, e.message end
  return inner[1]
end

return tensor
