-- The documents that people read: their paths.

local files = require "spec.support.files"

local documents = { "README.md", "CHANGELOG.md", "bench/README.md" }

for _, name in ipairs(files.list "docs") do
  if name:find "%.md$" then
    documents[#documents + 1] = "docs/" .. name
  end
end

return documents
