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
-- `trans`: of B[j, k].
local function product(o)
  local b = ts.builder("product")
  local rows = o.m and { o.m } or {}
  local A = b:input("A", o.m and { o.m, o.k } or { o.k }, o.dtype)
  local B = b:input("B", o.trans and { o.n, o.k } or { o.k, o.n },
                    o.dtype_b or o.dtype)
  local C = b:inout("C", o.m and { o.m, o.n } or { o.n }, o.acc)
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

-- Splits the loops of a block so that its last iters make up tiles of these
-- sizes (innermost last), moves the tiles inside and gives the outermost loop
-- of them: what tensorize takes.  nil and the reason where a size does not
-- divide an extent.
function tensor.tile(sch, block, sizes)
  local loops = table.pack(sch:get_loops(block))
  local first = #loops - #sizes
  if first < 0 then return nil, "the block has fewer loops" end
  local outer, inner = {}, {}
  for i = 1, first do outer[i] = loops[i] end
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
