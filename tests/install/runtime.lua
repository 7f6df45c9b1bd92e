-- SPDX-License-Identifier: Apache-2.0
-- Saves the program of examples/deploy.lua, with a parallel loop, as an object.
-- usage: tessera runtime.lua EXAMPLE OBJECT
local ts = require "tessera"
local sch = ts.schedule(dofile(arg[1]))
local block = sch:get_block "C"
sch:parallel((sch:get_loops(block)))
ts.build(sch):save(arg[2])
