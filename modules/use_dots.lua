-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling of products of bytes for instructions that add up four
-- of them, one or several in a row: VNNI, or SDOT and the like.  Rows by
-- vectors of sums, as many as registers hold, stay in registers throughout the
-- reduction, and the operand that columns index is laid out so that an
-- instruction's part of it is one load: a constant or layout-free one
-- beforehand, another by a copy.  The last level of tiles is in registers.
local ts = require "tessera"
local amx = require "tessera.steps.amx_tiling"
local intrin = require "tessera.intrin"
local kit = require "tessera.intrin.kit"
local tiling_parameters = require "tessera.steps.tiling_parameters"
local tensor = require "tessera.tensor"
local machine = require "tessera.steps.machine"
local tiling = require "tessera.tiling"

local full = { u8 = "uint8", s8 = "int8" }

-- The form of B in which the block has the fewest copies: [k, j] or [j, k].
local function form(sch, block, name, k, types)
  local width = tonumber(name:match "dot_(%d+)x")
  local best, least, why
  for _, trans in ipairs { false, true } do
    local desc = kit.product {
      n = width, k = k, dtype = full[types:sub(1, 2)],
      dtype_b = full[types:sub(3, 4)],
      acc = types == "u8u8" and "uint32" or "int32", trans = trans }
    local m, no = tensor.mapping(sch, block, name, desc)
    if m and k > 4 and amx.extent(sch, block, m.groups[#m.groups]) % k ~= 0 then
      m, no = nil, "sums would be filled up"
    end
    if m and (not best or m.copies < least) then
      least = m.copies
      best = { name = name, desc = desc, width = width, packed = 4,
               trans = trans, b = types:sub(3, 4) }
    end
    why = why or no
  end
  return best, why
end

-- The longest sum of one instruction that needs no padding, if the target has
-- several.
local function choose(sch, block, p)
  local best, why
  for _, k in ipairs { 16, 4 } do
    local name, no = intrin.dot(sch:target(), p.types, k)
    if name then best, no = form(sch, block, name, k, p.types) end
    if best then return best end
    why = no
  end
  return nil, why
end

-- Tiles of rows by so many vectors: the loops of each level.
local function tile(sch, piece, p, vectors)
  local loops, registers = { sch:get_loops(piece) },
                           machine.registers(sch, p.registers)
  local n, sizes = #loops, {}
  local columns = amx.part(sch:extent(loops[n - 1]), vectors)
  sizes[n - 1] = columns
  for i = 1, n - 2 do sizes[i] = 1 end
  if n > 2 then
    sizes[n - 2] = amx.part(sch:extent(loops[n - 2]),
                            math.max(1, (registers - columns - 6) // columns))
  end
  return tiling.tile(sch, piece, p, function(_, loop, count, _, i)
    return tiling.cut_around(sch, loop, count, p, sizes[i])
  end)
end

local function steps_of(vectors)
  return {
    choose = choose,
    tile = function(sch, piece, p) return tile(sch, piece, p, vectors) end,
    store = function(sch, piece, loop, x)
      return (tiling.write_back(sch, piece, loop, x.width, "global"))
    end,
    instruction = function(x) return x.name end,
  }
end

-- The types of A and B that there are products of.
local function types()
  local list = {}
  for name in pairs(kit.dots) do list[#list + 1] = name end
  table.sort(list)
  return list
end

return ts.module {
  name = "use_dots",
  parameters = tiling_parameters.of({
    structure = "SSRS", max_innermost_factor = 1024, write_levels = { 2 },
    tile_binds = {}, max_threads = 1024,
  }, {
    { "types", "u8s8", "those of A and B, which the target's best " ..
      "instruction does", words = types() },
    { "vectors", { 2 }, "how many vectors of columns, a sketch of each",
      least = 1 },
    { "registers", 0, "how many vector registers there are; 0: the target's",
      least = 0 },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    local all, why = {}, nil
    for _, vectors in ipairs(p.vectors) do
      all[#all + 1], why = amx.apply(sch, block, p, steps_of(vectors))
    end
    if #all == 0 then return nil, why end
    return all
  end,
}
