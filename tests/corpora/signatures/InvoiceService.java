package com.example.billing;

import static java.util.Objects.requireNonNull;
import java.util.*;

/**
 * Sends invoices.
 *
 * <p>Thread-safe.
 */
@Service("invoices")
@SuppressWarnings({"unchecked", "class Fake { void no() {} }"})
public abstract class InvoiceService<T extends Comparable<T> & Billable, ID> extends Base<T>
    implements Closeable, Iterable<T> {
  public static final int MAX = 10;
  private int low = 1, high[] = {1, 2}, rest;
  @Inject private final Map<String, List<? super T>> byName = new HashMap<>();
  protected final Comparator<T> order = new Comparator<T>() {
    @Override public int compare(T a, T b) { return a.compareTo(b); }
  };
  private static final String SQL = """
      select "}" from invoices; class Text {}
      """;
  private final Runnable task = () -> { int x = 1; };

  static {
    int boot = 1;
  }

  {
    low = 2;
  }

  /** Makes one. */
  @Autowired
  protected InvoiceService(@Named("db") final Db db, /* all */ String... names) throws IOException, SQLException {
    super(db);
  }

  <V> InvoiceService(V only) {}

  // How many there are.
  public synchronized int size() {
    int local = 1;
    class Counter {
      int n;
      void count() { n++; }
    }
    return new Counter() { void extra() {} }.n;
  }

  @Nullable
  public abstract T find(ID id);

  @Override
  @Transactional(timeout = 3)
  public <R extends T, S> Optional<R> save(
      final @Valid R item, // what
      int[]... codes,
      Function<? super R, ? extends S> mapper
  ) throws BillingException {
    return Optional.of(item);
  }

  public void over(int a) {}
  public void over(String a, int b) {}
  int old()[] { return null; }
  native long handle(); strictfp double rate() { return 1; }
  public @NotNull String label() { return "void fake() {"; }
  @Override public String toString() { return "x"; }

  public static final class Line<K> extends InvoiceService.Part {
    final K key;
    protected interface Visitor<R> { R visit(Line<?> line); }
  }

  private enum Status implements Labelled {
    OPEN(1) {
      @Override int weight() { return 2; }
    },
    PAID(2),
    @Deprecated VOID(3);

    private final int code;
    Status(int code) { this.code = code; }
    int weight() { return code; }
    static Status of(int code) { return OPEN; }
  }
}

record Money(@Positive long cents, String currency) implements Comparable<Money> {
  static final Money ZERO = new Money(0, "EUR");
  Money {
    requireNonNull(currency);
  }
  Money(long cents) { this(cents, "EUR"); }
  @Override public int compareTo(Money other) { return 0; }
}

sealed interface Billable permits Invoice, Credit {
  int LIMIT = 5;
  double total();
  default String name() { return "x"; }
  static Billable none() { return null; }
  private void check() {}
}

non-sealed class Invoice implements Billable { public double total() { return 1; } }

@Retention(RetentionPolicy.RUNTIME)
@interface Audited {
  String value() default "{}";
  int[] levels() default {1, 2};
  Class<?> by();
}

@FunctionalInterface
interface Tax<A, B extends A> extends Function<A, B> { B on(A a); }

enum Empty {}
