-- SPDX-License-Identifier: Apache-2.0
-- Splits a reduction with few spatial iterations into partial ones
-- (MetaSchedule's AddRFactor).  Its loops are made one, which is cut in two;
-- with the outer part factored out, as many partial results are reduced one
-- by one as it has iterations, which can be parallel; with the inner part,
-- the partial results of a row lie beside each other, which suits vectors.
--
-- The outer part makes jobs for cores, so it is factored out only where there
-- are few rows, and enough to do.
--
-- Sketches: the outer part factored out, the inner part, that by a tree, where
-- there are fewer spatial iterations than cores both parts, and as it was.
local ts = require "tessera"
local alike = require "tessera.steps.alike"
local machine = require "tessera.steps.machine"
local reductions = require "tessera.steps.reductions"
local rfactor = require "tessera.steps.rfactor"

-- Whether jobs for cores, which the outer part makes, can pay.
local function has_jobs(sch, block, p, cores)
  local rows = alike.iterations(sch, block)
  local work = sch:work((sch:get_loops(block)))
  return (p.outer_rows == 0 or rows < p.outer_rows * cores) and
         (not work or work >= p.outer_from)
end

local function forms(sch, block, p, cores)
  local jobs, list = has_jobs(sch, block, p, cores), {}
  if jobs then list[#list + 1] = rfactor.outer end
  list[#list + 1] = rfactor.inner
  if p.tree then list[#list + 1] = rfactor.tree end
  if jobs and alike.iterations(sch, block) < cores then
    list[#list + 1] = rfactor.both
  end
  return list
end

return ts.module {
  name = "add_rfactor",
  parameters = {
    { "max_jobs_per_core", 16, "with more spatial iterations for each core " ..
      "of the target a reduction that multi-level tiling suits is left to it",
      least = 1 },
    { "max_innermost_factor", 64, "the inner part is at most that long",
      least = 1 },
    { "along", false, "also a reduction along which lies what it reads most " ..
      "of, each element once, as a matrix times a vector, however many " ..
      "spatial iterations it has" },
    { "tree", false, "one more sketch adds the partial results of a row up " ..
      "by vectors, to as many as are sampled, and only these one by one" },
    { "together", false, "reductions of the program with as many spatial " ..
      "and as many other iterations, as the sums of a layer normalisation, " ..
      "are split alike, so that their choices do not multiply" },
    { "outer_rows", 0, "the outer part is factored out with fewer spatial " ..
      "iterations than these for each core; 0: however many", least = 0 },
    { "outer_from", 0, "and of work (`sch:work`) from this on", least = 0 },
  },
  apply = function(sch, block, p)
    local cores = machine.cores(sch)
    local most = cores * p.max_jobs_per_core
    if not reductions.needs_parts(sch, block, most, p.along) then
      return nil, "it is no reduction, or has enough spatial iterations"
    end
    local group, name = { block }, sch:block_info(block).name
    if p.together then
      if alike.is_split(sch, block) then return nil, "it is split" end
      local names = alike.names(sch:copy(), block, most, p.along)
      if names[1] ~= name then return nil, "it goes with " .. names[1] end
      for i = 2, #names do group[i] = sch:get_block(names[i]) end
    end
    local list, why = {}, nil
    for _, form in ipairs(forms(sch, block, p, cores)) do
      local made, no = alike.each(sch, group, form, p)
      list[#list + 1], why = made, why or no
    end
    if #list == 0 then return nil, why end
    list[#list + 1] = sch
    return list, why
  end,
}
