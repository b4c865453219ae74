; What JavaScript and TypeScript have in common. The captures are explained in languages.py.

(export_statement declaration: (_) @declared) @wrapper
[(export_statement (decorator) @decorator) (class_declaration (decorator) @decorator)]

[(function_declaration name: (_) @name body: (_) @stop)
 (generator_function_declaration name: (_) @name body: (_) @stop)] @definition.function

(class_declaration name: (_) @name body: (_) @stop) @definition.class
(class_body (method_definition name: (_) @name body: (_) @stop) @definition.method)

; export default without a name
(export_statement "default" @name value: (function_expression body: (_) @stop)) @definition.function
(export_statement "default" @name value: (generator_function body: (_) @stop)) @definition.function
(export_statement "default" @name value: (arrow_function "=>" @stop)) @definition.function
(export_statement "default" @name value: (class body: (_) @stop)) @definition.class

; const x = ..., let y = ...; local ones are none of ours, nor are those in a function without a name
[(program (lexical_declaration
   kind: "const" (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.constant)
 (export_statement (lexical_declaration
   kind: "const" (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.constant)]
[(program (lexical_declaration
   kind: "let" (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.variable)
 (program (variable_declaration
   (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.variable)
 (export_statement (lexical_declaration
   kind: "let" (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.variable)
 (export_statement (variable_declaration
   (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.variable)]

; var x = ... below `if` or `try`
[(program (if_statement (statement_block (variable_declaration
   (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.variable)))
 (program (try_statement (statement_block (variable_declaration
   (variable_declarator name: (identifier) @name value: (_)? @value) @part) @definition.variable)))]

; const { a, b: c } = ..., const [a, b] = ...
[(program (lexical_declaration
   kind: "const" (variable_declarator
     name: [(object_pattern [(shorthand_property_identifier_pattern) @name
                             (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
                             (pair_pattern value: (identifier) @name)])
            (array_pattern (identifier) @name)]
     value: (_) @value)) @definition.constant)
 (export_statement (lexical_declaration
   kind: "const" (variable_declarator
     name: [(object_pattern [(shorthand_property_identifier_pattern) @name
                             (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
                             (pair_pattern value: (identifier) @name)])
            (array_pattern (identifier) @name)]
     value: (_) @value)) @definition.constant)]

; functions and classes as values
([(lexical_declaration (variable_declarator
     name: (identifier) @name
     value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
     @part)
  (variable_declaration (variable_declarator
     name: (identifier) @name
     value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
     @part)]
  @definition.function)
([(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @stop)) @part)
  (variable_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @stop)) @part)]
  @definition.class)

; objects that hold functions
(lexical_declaration
  (variable_declarator name: (identifier) @name "=" @stop
    value: (object [
      (method_definition)
      (pair value: [(arrow_function) (function_expression) (generator_function)
                    (object [(method_definition)
                             (pair value: [(arrow_function) (function_expression) (generator_function)])])])])
      @members) @part)
  @definition.constant
(variable_declaration
  (variable_declarator name: (identifier) @name "=" @stop
    value: (object [
      (method_definition)
      (pair value: [(arrow_function) (function_expression) (generator_function)
                    (object [(method_definition)
                             (pair value: [(arrow_function) (function_expression) (generator_function)])])])])
      @members) @part)
  @definition.variable
[(variable_declarator value: (object (method_definition name: (_) @name body: (_) @stop) @definition.method))
 (assignment_expression right: (object (method_definition name: (_) @name body: (_) @stop) @definition.method))
 (export_statement value: (object (method_definition name: (_) @name body: (_) @stop) @definition.method))
 (export_statement value: (object
   (pair value: (object (method_definition name: (_) @name body: (_) @stop) @definition.method))))
 (export_statement value: (call_expression arguments: (arguments (object
   (method_definition name: (_) @name body: (_) @stop) @definition.method))))
 (export_statement value: (call_expression arguments: (arguments (object
   (pair value: (object (method_definition name: (_) @name body: (_) @stop) @definition.method))))))]
[(variable_declarator value: (object (pair
   key: [(property_identifier) (string)] @name
   value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
   @definition.function))
 (assignment_expression right: (object (pair
   key: [(property_identifier) (string)] @name
   value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
   @definition.function))
 (export_statement value: (object (pair
   key: [(property_identifier) (string)] @name
   value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
   @definition.function))
 (export_statement value: (object (pair value: (object (pair
   key: [(property_identifier) (string)] @name
   value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
   @definition.function))))]

; objects in such objects give their names to what is in them
(variable_declarator value: (object (pair
  key: [(property_identifier) (string)] @name
  value: (object [(method_definition)
                  (pair value: [(arrow_function) (function_expression) (generator_function)])]) @stop)
  @definition.namespace @scope))
(variable_declarator value: (object (pair value: (object
  (method_definition name: (_) @name body: (_) @stop) @definition.method))))
(variable_declarator value: (object (pair value: (object (pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop) (generator_function body: (_) @stop)])
  @definition.function))))

; exports.a = ..., module.exports.b = ...
(expression_statement
  (assignment_expression
    left: (member_expression object: (identifier) @object property: (property_identifier) @name) right: (_) @value)
  (#eq? @object "exports")) @definition.variable
(expression_statement
  (assignment_expression
    left: (member_expression
      object: (member_expression object: (identifier) @object property: (property_identifier) @exports)
      property: (property_identifier) @name)
    right: (_) @value)
  (#eq? @object "module") (#eq? @exports "exports")) @definition.variable

; a.b = function ..., a.b = class ...
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @name)
    right: [(arrow_function "=>" @stop)
            (function_expression !name body: (_) @stop)
            (generator_function !name body: (_) @stop)]))
  @definition.function
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @name)
    right: [(function_expression name: (_) body: (_) @stop) (generator_function name: (_) body: (_) @stop)])
  (#not-eq? @name "exports")) @definition.function
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @name) right: (class !name body: (_) @stop)))
  @definition.class
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @name) right: (class name: (_) body: (_) @stop))
  (#not-eq? @name "exports")) @definition.class

; module.exports = function f ..., module.exports = class C ...
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @exports)
    right: [(function_expression name: (_) @name body: (_) @stop)
            (generator_function name: (_) @name body: (_) @stop)])
  (#eq? @exports "exports")) @definition.function
(expression_statement
  (assignment_expression
    left: (member_expression property: (property_identifier) @exports) right: (class name: (_) @name body: (_) @stop))
  (#eq? @exports "exports")) @definition.class

; C.prototype.d = function ...
(expression_statement
  (assignment_expression
    left: (member_expression
      object: (member_expression property: (property_identifier) @prototype) property: (property_identifier) @name)
    right: [(arrow_function "=>" @stop)
            (function_expression body: (_) @stop)
            (generator_function body: (_) @stop)])
  (#eq? @prototype "prototype")) @definition.method
