-- SPDX-License-Identifier: Apache-2.0
-- Writes, for bench/factor.c, the factorisations of examples/lu_cholesky.lua
-- as they are described and as they are scheduled:
--   tessera bench/factor.lua FOLDER N
-- FOLDER/lu.plain, lu.scheduled, cholesky.plain, cholesky.scheduled
local here = arg[0]:match("^(.*)/[^/]*$")
local factor = dofile(here .. "/../examples/lu_cholesky.lua")

local folder, n = arg[1], math.tointeger(tonumber(arg[2]))
assert(folder and n, "usage: factor.lua FOLDER N")

for _, name in ipairs(factor.names) do
  local program = factor[name](n, "float64")
  local sch = factor.schedule[name](program, factor.tiles)
  program:save(("%s/%s.plain"):format(folder, name))
  sch:program():save(("%s/%s.scheduled"):format(folder, name))
end
