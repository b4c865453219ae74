; What a definition is in Ruby. The captures are explained in languages.py.

; private def x, private_class_method def self.x, memoize def y, private attr_reader :z
(call arguments: (argument_list . [(method) (singleton_method)] @declared)) @wrapper
(call arguments: (argument_list . (call arguments: (argument_list . [(method) (singleton_method)])) @declared)) @wrapper
(call
  method: (identifier) @modifier
  arguments: (argument_list . (call method: (identifier) @attribute) @declared)
  (#any-of? @modifier "private" "protected" "public" "module_function")
  (#any-of? @attribute "attr_accessor" "attr_reader" "attr_writer" "attr" "define_method" "alias_method")) @wrapper

; sig { ... } of Sorbet
(call !receiver method: (identifier) @sig block: (_) (#eq? @sig "sig")) @decorator

(module name: (constant) @name @last) @definition.module
(module name: (scope_resolution name: (constant) @name) @last @verbatim) @definition.module
(class name: (constant) @name @last superclass: (_)? @last) @definition.class
(class name: (scope_resolution name: (constant) @name) @last @verbatim superclass: (_)? @last) @definition.class

(method name: (_) @name @last parameters: (_)? @last) @definition.method
(program (method name: (_) @name @last parameters: (_)? @last) @definition.function)
(singleton_method
  object: [(constant) @parent (scope_resolution) @parent (_)] name: (_) @name @last parameters: (_)? @last)
  @definition.method
(program (singleton_method object: [(self) (identifier)] name: (_) @name @last parameters: (_)? @last)
  @definition.function)

; define_method(:x) { ... }, alias_method :x, :y, alias x y
(call
  !receiver
  method: (identifier) @how
  arguments: (argument_list . [(simple_symbol) @name (string . (string_content) @name .)]) @last
  (#any-of? @how "define_method" "define_singleton_method" "alias_method")) @definition.method
(alias name: (_) @name) @definition.method

(call
  !receiver
  method: (identifier) @how
  arguments: (argument_list [(simple_symbol) @name (string . (string_content) @name .)])
  (#any-of? @how "attr_accessor" "attr_reader" "attr_writer" "attr")) @definition.property

(assignment left: (constant) @name right: (_) @value) @definition.constant
(assignment left: (scope_resolution scope: (constant) @parent name: (constant) @name) right: (_) @value)
  @definition.constant
(assignment left: (scope_resolution scope: (self) name: (constant) @name) right: (_) @value) @definition.constant
(operator_assignment left: (constant) @name "||=" right: (_) @value) @definition.constant
(assignment left: (left_assignment_list (constant) @name) right: (_) @value) @definition.constant
(program (assignment left: (global_variable) @name right: (_) @value) @definition.variable)
(body_statement (assignment left: (class_variable) @name right: (_) @value) @definition.field)

; Point = Struct.new(:x) do ... end
(assignment
  left: (constant) @name
  right: (call
    receiver: (constant) @maker
    method: (identifier) @new
    block: [(block) (do_block)]? @stop)
  (#any-of? @maker "Class" "Struct" "Data")
  (#any-of? @new "new" "define")) @definition.class
(assignment
  left: (constant) @name
  right: (call receiver: (constant) @maker method: (identifier) @new block: [(block) (do_block)]? @stop)
  (#eq? @maker "Module")
  (#eq? @new "new")) @definition.module
