# frozen_string_literal: true
# Books and their accounts.
module Ledger
  VERSION = "2.1"
  DEFAULTS = { currency: "EUR", rounding: :half_even, precision: 2, locale: "de" }.freeze
  CREDIT, DEBIT = %i[credit debit]
  QUERY = <<~SQL
    def not_a_method(x)
    SELECT * FROM entries
  SQL

  # Something that cannot be booked.
  class Error < StandardError; end

  Unbalanced = Class.new(Error) do
    def message = "does not balance"
  end

  Amount = Struct.new(:value, :currency, keyword_init: true) do
    # Adds two amounts.
    def +(other)
      Amount.new(value: value + other.value, currency: currency)
    end

    def -@ = Amount.new(value: -value, currency:)
  end

  Line = Data.define(:account, :amount)

=begin
An account, which has entries.
=end
  class Account
    include Comparable
    attr_reader :name, :entries
    attr_accessor "owner"
    @@count = 0
    @opened = []

    class << self
      attr_writer :registry

      # Opens an account.
      def open(name, *tags, owner: nil, **options, &block)
        new(name).tap(&block)
      end
    end

    def self.find(name) = registry.fetch(name) { "def fake; end" }

    def initialize(
      name, # the name
      entries = [], # none yet
      owner: { name: "root" }
    )
      @name = name
      local = 1
    end

    def <=>(other)
      name <=> other.name
    end

    def [](index) = entries[index]

    def []=(index, entry); entries[index] = entry; end

    def empty?
      entries.empty?
    end

    def close!; freeze; end

    def balance=(amount)
      helper = ->(x) { x }
      def nested(a) = a
    end

    %w[credit debit].each do |side|
      define_method("#{side}?") { |entry| entry.side == side }
    end

    define_method(:total) { |since = nil| entries.sum }
    alias size total
    alias_method :length, :total

    sig { params(x: Integer).returns(String) }
    def typed(x)
      x.to_s
    end

    private

    def forget
    rescue KeyError
      nil
    end

    private def secret(key, salt = SecureRandom.hex(4)) = Digest.hexdigest(key + salt)

    private_class_method def self.reset(all: false)
      @@count = 0
    end

    protected attr_reader :key
  end

  module_function

  def größe(konto) = konto.entries.size

  def post entry, to: nil
    entry
  end
end

class Ledger::Report < Struct.new(:title, :rows)
  def Report.build(rows, title = "(none)") new(title, rows) end

  class Row; def cells() [] end; end
end

def Ledger.connect(url:, pool: ENV.fetch("POOL") { 5 })
  $connection ||= url
end

Ledger::LIMIT = 10
$stdout.sync = true
$level = :info
Registry ||= {}

def main(argv)
  puts argv
end

RSpec.describe Ledger do
  let(:account) { Ledger::Account.open("cash") }

  it "opens" do
    expect(account).to be_empty
  end

  def build_account(name = "x")
    Ledger::Account.new(name)
  end
end

__END__
def not_code
end
