-- SPDX-License-Identifier: Apache-2.0
-- The passes over graphs, in their order: each { name, what it does, run }.
local category = require "tessera.graph.categories"

local passes = {}

passes.list = {
  { name = "fold", help = "nodes of constants become constants",
    run = require "tessera.graph.fold" },
  { name = "simplify", help = "what changes nothing goes, chains become one",
    run = require "tessera.graph.simplify" },
  { name = "fold_batch_norm", help = "batch norm becomes part of convolutions",
    run = require "tessera.graph.batch_norm" },
  { name = "fold_again", help = "what simplifying made of constants",
    run = require "tessera.graph.fold" },
  { name = "fuse", help = "nodes become groups, each one program",
    run = function(g)
      local list = {}
      for i, n in ipairs(g:nodes()) do list[i] = category.of(n.op) end
      g:fuse_nodes(list)
    end },
}

-- Runs all of them; o.after(name, g) is called after each, and those named in
-- the set o.without are left out.
function passes.run(g, o)
  local without = o.without or {}
  g:sweep()
  for _, pass in ipairs(passes.list) do
    if not without[pass.name] then
      pass.run(g)
      g:sweep()
      g:verify()
    end
    if o.after then o.after(pass.name, g) end
  end
end

return passes
