-- SPDX-License-Identifier: Apache-2.0
-- The sub-commands of `tessera`, one a file of command/: each is a function of
-- the arguments and the host (read_line, terminal, verbose) and returns the
-- exit status.
local command = {}

for _, name in ipairs { "tune", "step", "show", "diff", "db", "lower",
                        "build", "model", "doc", "report", "watch",
                        "agent", "fleet" } do
  command[name] = require("tessera.command." .. name)
end

return command
