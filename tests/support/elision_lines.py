"""Lines that are placeholders, lines that may be one, and lines that never are."""

from __future__ import annotations

from typing import Final

_STRONG: Final = """
# ... (truncated) ...
# ... existing code ...
#... existing code ...
# …existing code…
# ... existing code
# existing code ...
# existing code
# Existing code here
# (existing code)
# [rest of code]
# <existing code>
# keep existing code
# Your existing code here
# your existing code goes here
# existing tests remain unchanged
# --- rest of the file ---
# ===== YOUR EXISTING CODE (UNCHANGED) =====
# ✅ EXISTING CODE (unchanged)
# All other functions remain the same
# all other methods stay unchanged
# Other imports unchanged
# ... other methods ...
# ... other methods
# the rest of the function stays the same
# rest of code unchanged
# The remaining code is unchanged.
# remaining implementation
# remainder of the class
# Rest of MyClass unchanged ...
# rest of the parser code
# ... (keep the existing interfaces) ...
# ... (keep the existing interfaces)
# (unchanged methods ...)
# (...rest of implementations)
# ... rest of existing code (unchanged) ...
# ... all cache headers and static routes remain UNCHANGED ...
# ... EmptyStateView, CourseGridView, CourseCard remain unchanged ...
# ... existing 20 categories remain unchanged ...
# ... helper methods (_show, _rewrite) remain unchanged ...
# imports omitted for brevity
# implementation omitted
# (omitted for brevity)
# ... omitted ...
# [...snip...]
# other helper functions are unchanged
# previous code
# keep the rest of the code
# continue with existing code
# Cleanup omitted for brevity
# Implementation details omitted for brevity
# ... keep existing code
# ... Keep your existing project controller functions above this ...
# ... keep verifyPayment and verifyStatus as they are ...
# Existing code continues unchanged
// Rest of your component remains the same...
// Rest of the routes remain same...
// ... rest of routing logic
# [Previous code remains the same]
# The rest of the code remains the same as before
# Add existing code here
# rest of process_order unchanged
# rest of implementation follows
# previous code remains exactly the same until this point
# ... 50 lines unchanged ...
function f() { /* ... existing code ... */ }
function f() { // ... rest of the function ...
def f(self): ...  # ... existing code ...
X = [  # ... existing entries ...
// ... existing code ...
/// rest of the class
// rest of methods ...
/* previous code */
/* ... existing methods ... */
/* rest of the file
* ... existing code ...
<!-- rest of file unchanged -->
{/* ... other imports ... */}
{ /* ... existing code ... */ }
-- remaining code here
; rest of the code
;; ... existing code ...
% the rest of the code is unchanged
' ... existing code ...
' rest of the code
" ... existing code ...
REM ... existing code ...
rem rest of the code
(* ... existing code ... *)
{- rest of the module -}
{# ... existing code ... #}
! ... existing code ...
:: rest of the script
pass  # ... existing code ...
pass  # existing code
...  # rest of the code
return  # ... existing code ...
return; // rest of the code
raise NotImplementedError  # ... existing code ...
} // ... existing code ...
{ // ... existing code ...
... existing code ...
... rest of the code ...
... other methods unchanged ...
(... existing code ...)
[... rest of the file ...]
"""

_WEAK: Final = """
# ...
# …
# . . .
# [...]
// ...
/* ... */
<!-- ... -->
{/* ... */}
-- ...
pass  # ...
...  # ...
{ /* ... */ }
# unchanged
# Unchanged
# (unchanged)
# same as before
# the same as above
# Same as original
# no changes
# No changes needed
# No other changes below
# nothing changed here
# omitted
# snip
# --- snip ---
# Keep the rest as is
# the rest is unchanged
# rest stays the same
# everything else unchanged
# Everything else remains the same
# code here
# your code here
# Implementation here
# implementation goes here
# function unchanged
# imports are unchanged
# process_order() unchanged
# ... more tests ...
# ... setup ...
# ... imports
# ... the rest
# ... rest of processing
# ... rest of OpenAPI spec
# ... rest of function with debug logging
// ... other svelte config options
// ... other categories
# ... keep all existing chained cards
# others ...
# existing methods
# remaining imports
# Existing code:
# NOTE: ... existing code ...
# process() and validate() unchanged
# __init__ unchanged
# lines 10-50 unchanged
# 20 lines omitted
# validation logic remains the same
# Same implementation as before
# (same code as above)
# no changes to this function
# Nothing else changes
# This function remains unchanged
# ... etc ...
# rest of the code above
# previous implementation
# existing validation logic
// Existing validation logic here
# TODO: rest of the code
# other fields remain the same
pass  # unchanged
pass  # same as before
... rest of the code
rest of the code ...
(rest of methods ...)
[rest of code]
<existing code>
\"\"\"...\"\"\"
\"\"\"... rest of the class ...\"\"\"
'''... existing code ...'''
"... existing code ..."
'... rest of the code'
"""

_ORDINARY: Final = """
# we should never get here...
# Retry a few more times...
# Loading code...
# keep trying...
# Handle the other cases: a, b, ...
# wait ... then go
# wait for the rest ... then go on
# ...and then the other thing happens
# remaining budget in seconds
# existing users keep their id
# existing file
# the remaining lines
# remaining items
# original function
# rest of the line
# the rest
# other methods
# Other imports
# file unchanged
# skip unchanged files
# keep the original order
# for clarity
# to save space
# see the existing code above
# add your code here
# copy the rest of the code
# status code unchanged
# with existing code
# in the rest of the file
# is unchanged
# same for methods
# ...rest of the world sees it
# ... other workers are blocked
// rest of the config treats one bad entry
// rest of the app's cards sit on a grey page
# (the rest is just indented code block)
# (as they are metaclass methods)
# Same logic as in `parse_row()`:
# In... functions
# .-. .-. .-.
# ...but we should use the supplied one when generating...
# '[' ... ']'
# Use the existing parser logic
# rest of the code handles edge cases
# existing error code
# rest of MyClass
# Add remaining tests
# etc.
# here
# existing
# returns the existing code if there is one
# the existing code path is slow
# copy the rest of the file
# rest of the code base uses snake case
# This is the same code that the parser uses
# more tests
# Adding more methods...
# Fetching existing code from the server...
# previous code review asked for this
# error code omitted from the log on purpose
# code
# TODO: implement the remaining methods
# TODO: add the rest later
# remaining_code = 3
# -----
# ====== helpers ======
#!/usr/bin/env python
#include <rest.h>
#else
#rest { color: red }
#existing-code {
// args...
// e.g. f(...rest)
-- name: other
--existing-code
msg = '# ... existing code ...'
print("... existing code ...")
x = "rest of the code"  # ... existing code ...
x = 1  # existing code
return x  # rest of the code
return  # unchanged
"... existing code ...",
'# ... existing code ...',
('# ... existing code ...', True),
"# ... existing code ..."
"existing code"
"rest of the code"
"..."
'...'
\"\"\"Rest of the class.\"\"\"
\"\"\"The existing code.\"\"\"
...
% (previous, code)
(*existing, code)
<%= existing code %>
if x: pass  # unchanged
if (x) { // existing code
x = "{ // ... existing code ..."
(...)
...rest
...existing,
...rest, ...other
{ ...rest }
[...existing, code]
[existing, code]
(existing_code)
[code]
catch (...) {
existing code
rest of the code
return existing
pass
pass  # nothing to do
}
});
"""


def _rows(table: str) -> list[str]:
    return table.strip().splitlines()


STRONG: Final = _rows(_STRONG)
WEAK: Final = _rows(_WEAK)
ORDINARY: Final = _rows(_ORDINARY)
