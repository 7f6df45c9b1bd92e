-- SPDX-License-Identifier: Apache-2.0
-- What the families of tensor intrinsics have in common: entering one, and the
-- programs that describe products and copies of tiles.
local ts = require "tessera"

local kit = {
  entries = {},        -- by name
  dots = {},           -- dot products by the types of A and B, best first
}

local described = {}   -- programs by name
local declared = {}

-- Enters an intrinsic: { name =, family =, summary =, kind = (of target),
-- needs = { features }, desc = function, impl = function(desc) }.
function kit.enter(x)
  x.needs = x.needs or {}
  kit.entries[x.name] = x
end

-- Those of a product of bytes, of `k` each, 4 if none is given; the best first.
function kit.enter_dot(types, x)
  x.k = x.k or 4
  kit.enter(x)
  local list = kit.dots[types] or {}
  kit.dots[types] = list
  list[#list + 1] = x.name
end

function kit.describe(name)
  described[name] = described[name] or kit.entries[name].desc()
  return described[name]
end

-- Declares one in this context, once; gives its name.
function kit.declare(name)
  if not declared[name] then
    local desc = kit.describe(name)
    ts.tensor_intrin{ name = name, desc = desc,
                      impl = kit.entries[name].impl(desc) }
    declared[name] = true
  end
  return name
end

-- Enters and declares one that is made on demand, and not listed.
function kit.once(x)
  x.is_made = true
  if not kit.entries[x.name] then kit.enter(x) end
  return kit.declare(x.name)
end

-- What is known of one that was entered; nil: none of this name was.
function kit.known(name)
  return kit.entries[name] and kit.describe(name)
end

function kit.page(name)
  local x = kit.entries[name]
  if x.text then return x.text end
  local desc = kit.describe(name)
  local impl = x.impl(desc)
  local text = tostring(desc):gsub("%s+$", ""):gsub("\n", "\n    ")
  local lines = {
    "## tensor intrinsic " .. name, "", x.summary .. ".", "",
    ("`sch:tensorize(loop, intrin.use %q)`, of `require " ..
     "\"tessera.intrin\"`. %s"):format(name, #x.needs > 0 and
       "It needs " .. table.concat(x.needs, ", ") .. "." or
       "It needs no feature of the target."), "",
    "What it does:", "", "    " .. text,
  }
  if type(impl) == "string" then
    lines[#lines + 1] = "\nBy one call:\n"
    lines[#lines + 1] = "    " .. impl
  end
  x.text = table.concat(lines, "\n")
  return x.text
end

-- The entries of the reference for intrinsics of these names.
function kit.pages(names)
  local list = {}
  for i, name in ipairs(names) do
    list[i] = { name = name, summary = kit.entries[name].summary,
                page = function() return kit.page(name) end }
  end
  return list
end

-- ---- descriptions ----------------------------------------------------------

-- C[i, j] = C[i, j] + A[i, k] * B[k, j] over a tile; without `m` it has no i.
-- `trans`: of B[j, k]; `packed`: of B[k // packed, j, k % packed].  `scopes`:
-- of A, B and C.
function kit.product(o)
  local b = ts.builder("product")
  local rows, scopes = o.m and { o.m } or {}, o.scopes or {}
  local shape = o.packed and { o.k // o.packed, o.n, o.packed } or
                o.trans and { o.n, o.k } or { o.k, o.n }
  local A = b:input("A", o.m and { o.m, o.k } or { o.k }, o.dtype, scopes[1])
  local B = b:input("B", shape, o.dtype_b or o.dtype, scopes[2])
  local C = b:inout("C", o.m and { o.m, o.n } or { o.n }, o.acc, scopes[3])
  local function weight(vj, vk)
    if o.packed then return B(vk // o.packed, vj, vk % o.packed) end
    return o.trans and B(vj, vk) or B(vk, vj)
  end
  local function body(i, j, k)
    b:block("C", o.m and {
      { "vi", extent = o.m, bind = i }, { "vj", extent = o.n, bind = j },
      { "vk", "reduce", extent = o.k, bind = k } } or {
      { "vj", extent = o.n, bind = j },
      { "vk", "reduce", extent = o.k, bind = k } },
      function(x, y, z)
        local vi, vj, vk = x, y, z
        if not o.m then vi, vj, vk = nil, x, y end
        local a, w = o.m and A(vi, vk) or A(vk), weight(vj, vk)
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

-- to[i, j] = from[i, j], or 0 without `from`, over a tile; both are scopes.
function kit.copy(dtype, rows, columns, from, to)
  local b = ts.builder("tile")
  local A = from and b:input("A", { rows, columns }, dtype, from)
  local C = b:output("C", { rows, columns }, dtype, to)
  b:loop("i", 0, rows, function(i)
    b:loop("j", 0, columns, function(j)
      b:block("C", { { "vi", extent = rows, bind = i },
                     { "vj", extent = columns, bind = j } },
        function(vi, vj)
          b:store(C, { vi, vj }, A and A(vi, vj) or ts.const(0, dtype))
        end)
    end)
  end)
  return b:program()
end

-- P[j, k] = B[j, k] over a tile of rows x columns, or B[k, j] if `trans`.
function kit.rearrange(dtype, rows, columns, trans)
  local b = ts.builder("rearrange")
  local B = b:input("B", trans and { columns, rows } or { rows, columns },
                    dtype)
  local P = b:output("P", { rows, columns }, dtype)
  b:loop("j", 0, rows, function(j)
    b:loop("k", 0, columns, function(k)
      b:block("P", { { "vj", extent = rows, bind = j },
                     { "vk", extent = columns, bind = k } },
        function(vj, vk)
          b:store(P, { vj, vk }, trans and B(vk, vj) or B(vj, vk))
        end)
    end)
  end)
  return b:program()
end

-- The product of a tile by vectors: of columns, one after the other in k.
function kit.by_columns(desc)
  local sch = ts.schedule(desc)
  local l = table.pack(sch:get_loops(sch:get_block "C"))
  local k, j = l[#l], l[#l - 1]
  if #l == 3 then sch:reorder(k, l[1], j) else sch:reorder(k, j) end
  if #l == 3 then sch:unroll(l[1]) end
  sch:unroll(k)
  sch:vectorize(j)
  return sch:program()
end

return kit
