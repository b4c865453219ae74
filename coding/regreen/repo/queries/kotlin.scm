; What a definition is in Kotlin. The captures are explained in languages.py.

; annotations of declarations; those of parameters stay in the signature
[(class_declaration (modifiers (annotation) @decorator))
 (object_declaration (modifiers (annotation) @decorator))
 (companion_object (modifiers (annotation) @decorator))
 (function_declaration (modifiers (annotation) @decorator))
 (property_declaration (modifiers (annotation) @decorator))
 (secondary_constructor (modifiers (annotation) @decorator))
 (type_alias (modifiers (annotation) @decorator))]

(class_declaration "class" name: (_) @name [(class_body) (enum_class_body)]? @stop) @definition.class
(class_declaration "interface" name: (_) @name (class_body)? @stop) @definition.interface
(class_declaration
  (modifiers (class_modifier "enum")) name: (_) @name [(class_body) (enum_class_body)]? @stop) @definition.enum
(class_declaration
  (modifiers (class_modifier "annotation")) name: (_) @name (class_body)? @stop) @definition.annotation

(object_declaration name: (_) @name (class_body)? @stop) @definition.object
(companion_object name: (_) @name (class_body)? @stop) @definition.object
(companion_object "companion" @name !name (class_body)? @stop) @definition.object

; an entry with a body of its own gives its name to what is in there
(enum_entry . (identifier) @name (class_body) @stop) @definition.object @scope

(function_declaration name: (_) @name (function_body)? @stop) @definition.function
(secondary_constructor "constructor" @name ":"? @stop (block)? @stop) @definition.method

(type_alias type: (_) @name) @definition.type

; properties: none that are local
[(source_file (property_declaration
   [(variable_declaration (identifier) @name) (multi_variable_declaration (variable_declaration (identifier) @name))]
   [("=" . (_) @value) (property_delegate) @value]?) @definition.variable)
 (class_body (property_declaration
   (variable_declaration (identifier) @name) [("=" . (_) @value) (property_delegate) @value]?) @definition.field)
 (enum_class_body (property_declaration
   (variable_declaration (identifier) @name) [("=" . (_) @value) (property_delegate) @value]?) @definition.field)]

(property_declaration
  (modifiers (property_modifier "const")) (variable_declaration (identifier) @name) "=" . (_) @value)
  @definition.constant

; with accessors
(property_declaration (variable_declaration (identifier) @name) . [(getter) (setter)] @stop) @definition.property
(property_declaration
  (variable_declaration (identifier) @name) "=" . (_) @value . [(getter) (setter)] @stop) @definition.property

; an object without a name
[(source_file (property_declaration
   (variable_declaration (identifier) @name) "=" . (object_literal (class_body) @stop) @members)
   @definition.variable)
 (class_body (property_declaration
   (variable_declaration (identifier) @name) "=" . (object_literal (class_body) @stop) @members)
   @definition.field)]
