-- SPDX-License-Identifier: Apache-2.0
-- The parameters that modules which tile have in common: their declarations,
-- and the checks of those that hang on one another.
local options = require "tessera.lang.options"
local tiling_parameters = {}

local wrong = options.unusable

local rows = {
  { "structure", help = "the levels of tiles: S of each spatial loop, R of " ..
      "each reduction loop",
    takes = "a text of S, for tiles of spatial loops, and R, for tiles of " ..
      "reduction loops",
    fits = function(v) return type(v) == "string" and v:find "^[SR]+$" end },
  { "max_innermost_factor", least = 1,
    help = "innermost tiles are at most that long" },
  { "tile_binds", takes = "a list of axes",
    help = "what the loops of the first levels are fused and bound to, as " ..
      "\"blockIdx.x\", \"vthread.x\", \"threadIdx.x\"" },
  { "max_threads", least = 1, help = "the most threads of a block" },
  { "threads_per_block", type = "range",
    help = "how many threads a block has: tiles are drawn together, and " ..
      "those of a thread are short; empty: loop by loop" },
  { "write_levels", takes = "a list of levels",
    help = "a sketch of each, in which the result is kept in a small buffer " ..
      "and written back under the last loop of that level" },
  { "write_scope", type = "text", help = "the scope of that buffer" },
  { "write_must", help = "no sketch is without it, where one has it" },
  { "read_levels", takes = "a list of levels",
    help = "under the last loop of each all operands are copied" },
  { "read_scope", type = "text", help = "the scope of these copies" },
  { "read_must", help = "no sketch is without them" },
  { "vector_load_lens", type = "integers",
    help = "how many elements a thread copies at a time, one is sampled" },
  { "vector_bytes", type = "integers",
    help = "how many bytes a thread copies at a time, one is sampled" },
  { "stages", type = "integers",
    help = "in how many buffers copies are on their way while those before " ..
      "are used, one is sampled: one more sketch, where the level is R" },
  { "pack", help = "one more sketch, in which the operands that the " ..
      "innermost spatial loop walks are copied tile by tile" },
  { "pack_scope", type = "text", help = "the scope of these copies" },
}

-- The declarations of a module with these defaults, by name, behind its own.
function tiling_parameters.of(defaults, own)
  local list, left = own or {}, {}
  for name in pairs(defaults) do left[name] = true end
  for _, row in ipairs(rows) do
    local name = row[1]
    if left[name] then
      list[#list + 1] = { name, defaults[name], row.help, type = row.type,
                          least = row.least, takes = row.takes,
                          fits = row.fits }
      left[name] = nil
    end
  end
  assert(not next(left), next(left))
  return list
end

-- ---- what hangs on the structure -------------------------------------------

-- The levels as integers; else the place of the first that is none.
local function integers_of(list, most)
  local levels = {}
  for i = 1, #list do
    local n = math.type(list[i]) and math.tointeger(list[i])
    if not n or n < 1 or n > most then return nil, i end
    levels[i] = n
  end
  return levels
end

local function write_levels_of(structure)
  local most = #structure:match "^S*"
  if most == 0 then
    return 0, ("none, since structure '%s' starts with no S"):format(structure)
  end
  return most, ("1 to %d, the S that structure '%s' starts with")
               :format(most, structure)
end

-- Settles p[name], a list of levels from 1 to most.
local function check_levels(p, given, name, most, possible)
  if p[name] == nil then return nil end    -- the module has no such parameter
  if given[name] == nil then
    local fit = {}
    for _, level in ipairs(p[name]) do
      if level <= most then fit[#fit + 1] = level end
    end
    p[name] = fit
  elseif type(p[name]) ~= "table" then
    return wrong(name, p[name], "it is a list of levels: " .. possible)
  end
  local levels, i = integers_of(p[name], most)
  if not levels then
    return wrong(("%s[%d]"):format(name, i), p[name][i],
                 "levels are " .. possible)
  end
  p[name] = levels
end

local function check_axes(p)
  local most = #p.structure:match "^S*"
  if type(p.tile_binds) ~= "table" then
    return wrong("tile_binds", p.tile_binds, "it is a list of axes")
  end
  for i, axis in ipairs(p.tile_binds) do
    if type(axis) ~= "string" or
       not (axis:find "^blockIdx%.[xyz]$" or axis:find "^threadIdx%.[xyz]$" or
            axis:find "^vthread%.[xyz]$") then
      return wrong(("tile_binds[%d]"):format(i), axis,
                   "it is an axis, as blockIdx.x, vthread.x or threadIdx.x")
    end
  end
  if #p.tile_binds > most then
    return ("parameter 'tile_binds' has %d axes: structure '%s' starts " ..
            "with %d S"):format(#p.tile_binds, p.structure, most)
  end
end

-- What is wrong with parameters that the structure does not allow, of which
-- `given` were given; nil: nothing.  Levels that were not given become those of
-- the default that the structure has.
function tiling_parameters.check(p, given)
  local most, possible = write_levels_of(p.structure)
  local why = check_levels(p, given, "write_levels", most, possible) or
              check_levels(p, given, "read_levels", #p.structure,
                           ("1 to %d, those of structure '%s'")
                           :format(#p.structure, p.structure)) or
              check_axes(p)
  if not why and p.pack and not p.structure:find "R" then
    return wrong("pack", p.pack, ("structure '%s' has no R for the " ..
                 "copies to go under"):format(p.structure))
  end
  return why
end

return tiling_parameters
