# Loaded into RSpec with --require: tells what happens over the private channel, and keeps a run to the selected
# examples. It prints nothing.
#
# REGREEN_CHANNEL is the number of an open descriptor; its first line is this run's nonce. REGREEN_SELECTION names a
# JSON file: entries to run, each a "file" (or folder, or a "line" or "scoped" id of it) or a "name"; absent or empty
# stands for everything.

require "json"

module Regreen
  MAX_TEXT = 60_000
  @owner = Process.pid

  class << self
    def open_channel
      number = ENV.delete("REGREEN_CHANNEL")
      return unless number

      @channel = IO.for_fd(Integer(number), "r+b", autoclose: false)
      @channel.close_on_exec = true
      @channel.sync = true
      line = +""
      until line.end_with?("\n")
        byte = @channel.sysread(1)
        line << byte
      end
      @nonce = line.chomp
      tell("hello")
    end

    # A forked child has the same channel, and nothing to tell.
    def tell(kind, fields = {})
      return unless @channel && Process.pid == @owner

      @channel.write(JSON.generate({ "n" => @nonce, "k" => kind }.merge(fields)) + "\n")
    rescue SystemCallError, IOError
      @channel = nil
    end

    def entries
      @entries ||= begin
        path = ENV.delete("REGREEN_SELECTION")
        path ? JSON.parse(File.read(path, encoding: "UTF-8")) : []
      end
    end

    def utf8(text)
      text = text.to_s
      text = text.dup.force_encoding("UTF-8") if text.encoding == Encoding::BINARY
      text.encode("UTF-8", invalid: :replace, undef: :replace).scrub[0, MAX_TEXT]
    end

    # The full description; of an example without one of its own, with its place, since what it will be called is only
    # known afterwards.
    def name_of(metadata)
      own = metadata[:description_args].first.to_s
      text = own.empty? && metadata[:block] ? "#{parent_name(metadata)} (#{place_text(metadata)})" : full(metadata)
      utf8(text.strip)
    end

    def full(metadata)
      metadata[:full_description].to_s
    end

    def parent_name(metadata)
      group = metadata[:example_group]
      group ? group[:full_description].to_s : ""
    end

    def place_text(metadata)
      "#{metadata[:file_path].to_s.delete_prefix('./')}:#{metadata[:line_number]}"
    end

    # The file that holds the example; of a shared one, the spec that includes it.
    def spec_file(metadata)
      File.expand_path(metadata[:rerun_file_path] || metadata[:absolute_file_path] || metadata[:file_path])
    end

    def selected?(metadata)
      resolve unless @wanted
      @wanted.include?(name_of(metadata)) || @places.any? { |place| at?(place, metadata) }
    end

    def at?(place, metadata)
      file = File.expand_path(place["file"])
      return spec_file(metadata).start_with?("#{file}/") unless spec_file(metadata) == file

      line, scoped = place.values_at("line", "scoped")
      return true unless line || scoped

      RSpec::Core::Metadata.ascend(metadata).any? do |m|
        (line && m[:line_number] == line) || (scoped && m[:scoped_id] == scoped)
      end
    end

    # What the entries mean, once all specs are loaded.
    def resolve
      examples = RSpec.world.all_examples.map(&:metadata)
      by_name = examples.group_by { |m| name_of(m) }
      by_title = examples.group_by { |m| utf8(m[:description]) }
      @wanted = {}
      @places = []
      unmatched = []
      ambiguous = {}
      entries.each do |entry|
        name = entry["name"]
        if entry["file"]
          examples.any? { |m| at?(entry, m) } ? @places << entry : unmatched << entry["entry"]
        elsif by_name.key?(name)
          @wanted[name] = true
        else
          names = (by_title[name] || []).map { |m| name_of(m) }
          case names.size
          when 0 then unmatched << entry["entry"]
          when 1 then @wanted[names[0]] = true
          else ambiguous[entry["entry"]] = names.uniq.first(10)
          end
        end
      end
      tell("selected", "unmatched" => unmatched, "ambiguous" => ambiguous)
    end

    def describe(error)
      return { "kind" => "", "message" => "", "frames" => [] } unless error

      { "kind" => utf8(error.class.name), "message" => utf8(message_of(error)), "frames" => frames(error),
        "causes" => causes(error), "path" => error.is_a?(LoadError) ? utf8(error.path) : "" }
    end

    def message_of(error)
      error.message
    rescue StandardError => e
      "its message cannot be made: #{e.class}"
    end

    def causes(error)
      found = []
      while (error = error.cause) && found.size < 5
        found << "#{utf8(error.class.name)}: #{utf8(message_of(error))}"
      end
      found
    end

    # Innermost first, as Ruby has them.
    def frames(error)
      lines = error.backtrace || []
      lines = [*syntax_place(error), *lines] if error.is_a?(SyntaxError)
      lines.first(200).filter_map do |line|
        match = /\A(.+?):(\d+)(?::in [`'](?:.*? in )?(.*)')?\z/.match(utf8(line))
        match && { "path" => File.expand_path(match[1]), "line" => match[2].to_i, "name" => match[3].to_s }
      end
    end

    def syntax_place(error)
      match = /^(\S.*?:\d+): /.match(utf8(message_of(error)))
      match ? [match[1]] : []
    end
  end

  # Errors that belong to no example: while a file is loaded, and in hooks around a group or the whole suite.
  module Outside
    def notify_non_example_exception(exception, context)
      Regreen.tell("outside", Regreen.describe(exception).merge("context" => Regreen.utf8(context)))
      super
    end
  end

  class Formatter
    RSpec::Core::Formatters.register self, :start, :example_started, :example_passed, :example_failed,
                                     :example_pending, :close

    def initialize(_output); end

    def start(notification)
      @dry = RSpec.configuration.dry_run?
      Regreen.tell("collected", "total" => notification.count, "dry" => @dry)
    end

    def example_started(notification)
      @begun = notification.example
      Regreen.tell("start", "id" => Regreen.name_of(@begun.metadata)) unless @dry
    end

    def example_passed(notification)
      ended(notification.example, "passed")
    end

    def example_failed(notification)
      ended(notification.example, "failed")
    end

    def example_pending(notification)
      ended(notification.example, notification.example.skipped? ? "skipped" : "xfailed")
    end

    def close(_notification)
      Regreen.tell("told", "stopped" => RSpec.world.wants_to_quit ? true : false)
    end

    private

    def ended(example, outcome)
      return if @dry

      result = example.execution_result
      about = { "id" => Regreen.name_of(example.metadata), "outcome" => outcome, "duration" => result.run_time.to_f,
                "place" => [example.metadata[:absolute_file_path], example.metadata[:line_number]] }
      about.merge!(Regreen.describe(example.exception)) if outcome == "failed"
      Regreen.tell("end", about)
    end
  end
end

Regreen.open_channel
Regreen.entries
RSpec::Core::Reporter.prepend(Regreen::Outside) if RSpec::Core::Reporter.method_defined?(:notify_non_example_exception)
unless Regreen.entries.empty?
  RSpec.configuration.filter_run_including(full_description: ->(_text, metadata) { Regreen.selected?(metadata) })
end
