; What C alone has. The captures are explained in languages.py.
(enum_specifier (attribute_specifier) @decorator)
