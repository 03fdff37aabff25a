-- A link within the documents leads somewhere: to a file, and in a document to a heading.

local documents = require "spec.support.documents"
local files = require "spec.support.files"

-- The text without blocks of code, in which # and brackets mean other things.
local function prose(path)
  return (files.read(path):gsub("```.-```", ""))
end

-- The names of a document's headings in links: lower case, spaces as hyphens, no punctuation.
local function anchors(path)
  local found = {}
  for heading in ("\n" .. prose(path)):gmatch "\n#+ ([^\n]+)" do
    found[heading:lower():gsub("[^%w%s_-]", ""):gsub("%s", "-")] = true
  end
  return found
end

for _, document in ipairs(documents) do
  describe(document, function()
    for target in prose(document):gmatch "%]%(([^)%s]+)%)" do
      if not target:find "^%a+:" then
        it("leads to " .. target, function()
          local path, anchor = target:match "^([^#]*)#?(.*)$"
          path = path == "" and document or (document:match "^.*/" or "") .. path
          assert(io.open(path, "rb"), path):close()
          assert.is_true(anchor == "" or anchors(path)[anchor], anchor)
        end)
      end
    end
  end)
end
