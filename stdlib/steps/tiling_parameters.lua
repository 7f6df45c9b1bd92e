-- SPDX-License-Identifier: Apache-2.0
-- Checks of the parameters that modules which tile have in common.
local options = require "tessera.lang.options"
local parameters = {}

local wrong = options.unusable

-- The levels as integers; else the place of the first that is none.
local function integers_of(list, most)
  local levels = {}
  for i = 1, #list do
    levels[i] = options.positive(list[i], most)
    if not levels[i] then return nil, i end
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

local function check_copies(p)
  for _, name in ipairs { "write_scope", "read_scope", "pack_scope" } do
    if p[name] ~= nil and type(p[name]) ~= "string" then
      return wrong(name, p[name], "it is a storage scope, as \"shared\"")
    end
  end
  for _, name in ipairs { "pack", "must", "write_must", "read_must", "pipeline",
                          "tensorize" } do
    if p[name] ~= nil and type(p[name]) ~= "boolean" then
      return wrong(name, p[name], "it is true or false")
    end
  end
  if p.pack and not p.structure:find "R" then
    return wrong("pack", p.pack, ("structure '%s' has no R for the " ..
                 "copies to go under"):format(p.structure))
  end
  local lengths = p.vector_load_lens
  if lengths ~= nil and (type(lengths) ~= "table" or #lengths > 0) then
    return options.not_extents("vector_load_lens", lengths)
  end
  if p.stages ~= nil and (type(p.stages) ~= "table" or #p.stages > 0) then
    local why = options.not_extents("stages", p.stages)
    if why then return why end
  end
  local range = p.threads_per_block
  if range ~= nil and (type(range) ~= "table" or #range > 0) then
    local why = options.not_extents("threads_per_block", range)
    if why then return why end
    if #range ~= 2 or range[1] > range[2] then
      return wrong("threads_per_block", #range, "it is the least and the most")
    end
  end
  return p.vector_bytes ~= nil and
         options.not_extents("vector_bytes", p.vector_bytes) or nil
end

-- What is wrong with the parameters of a module that tiles, of which `given`
-- were given; nil: nothing.  Numbers become integers, and levels that were not
-- given those of the default that the structure has.
function parameters.check(p, given)
  if type(p.structure) ~= "string" or not p.structure:find "^[SR]+$" then
    return wrong("structure", p.structure, "its letters are S, for tiles " ..
                 "of spatial loops, and R, for tiles of reduction loops")
  end
  for _, name in ipairs { "max_innermost_factor", "max_threads" } do
    local why = options.not_positive(name, p[name])
    if why then return why end
    p[name] = options.positive(p[name])
  end
  local most, possible = write_levels_of(p.structure)
  return check_copies(p) or
         check_levels(p, given, "write_levels", most, possible) or
         check_levels(p, given, "read_levels", #p.structure,
                      ("1 to %d, those of structure '%s'")
                      :format(#p.structure, p.structure)) or
         check_axes(p)
end

return parameters
