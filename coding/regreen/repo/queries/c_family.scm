; What a definition is in C, and the same in C++. The captures are explained in languages.py.

(preproc_function_def name: (identifier) @name value: (_)? @stop) @definition.macro
(preproc_def name: (identifier) @name value: (_)? @value) @definition.macro

(function_definition declarator: (_) @declarator body: (_) @stop) @definition.function

; int f(void); int a = 1, *b; outside of functions
([(translation_unit (declaration declarator: (_) @declarator) @definition.declaration)
  (preproc_ifdef (declaration declarator: (_) @declarator) @definition.declaration)
  (preproc_if (declaration declarator: (_) @declarator) @definition.declaration)
  (preproc_else (declaration declarator: (_) @declarator) @definition.declaration)
  (preproc_elif (declaration declarator: (_) @declarator) @definition.declaration)
  (preproc_elifdef (declaration declarator: (_) @declarator) @definition.declaration)
  (declaration_list (declaration declarator: (_) @declarator) @definition.declaration)
  (linkage_specification (declaration declarator: (_) @declarator) @definition.declaration)
  (ERROR (declaration declarator: (_) @declarator) @definition.declaration)])
(linkage_specification body: [(declaration) (function_definition)] @declared) @wrapper

(struct_specifier name: (type_identifier) @name body: (_) @stop) @definition.struct
(union_specifier name: (type_identifier) @name body: (_) @stop) @definition.union
(enum_specifier name: (type_identifier) @name body: (_) @stop) @definition.enum
(field_declaration declarator: (_) @declarator) @definition.member
(type_definition declarator: (_) @declarator) @definition.type

; typedef struct { ... } x;  struct { ... } x;  the fields are those of x
(type_definition
  type: [(struct_specifier !name body: (_) @fold) (union_specifier !name body: (_) @fold)
         (enum_specifier !name body: (_) @fold)] @members
  declarator: (_) @declarator) @definition.type
(field_declaration
  type: [(struct_specifier !name body: (_) @fold) (union_specifier !name body: (_) @fold)
         (enum_specifier !name body: (_) @fold)] @members
  declarator: (_) @declarator) @definition.field
(type_definition
  type: [(struct_specifier name: (_) body: (_) @fold) (union_specifier name: (_) body: (_) @fold)
         (enum_specifier name: (_) body: (_) @fold)]
  declarator: (_) @declarator) @definition.type

(function_definition [(attribute_declaration) (attribute_specifier) (ms_declspec_modifier)] @decorator)
(function_declarator (attribute_specifier) @decorator)
(declaration [(attribute_declaration) (attribute_specifier) (ms_declspec_modifier)] @decorator)
(field_declaration [(attribute_declaration) (attribute_specifier)] @decorator)
(type_definition (attribute_specifier) @decorator)
(struct_specifier [(attribute_specifier) (ms_declspec_modifier)] @decorator)
(union_specifier [(attribute_specifier) (ms_declspec_modifier)] @decorator)
