#nullable enable
using System;
using System.Collections.Generic;

[assembly: InternalsVisibleTo("Shop.Tests")]

namespace Shop.Orders
{
    /// <summary>
    /// Takes orders.
    /// </summary>
    /// <remarks>class Fake { }</remarks>
    [Serializable, Obsolete("use [New] instead")]
    [DebuggerDisplay("{Count} } orders")]
    public abstract partial class OrderService<TKey, [Marker] TOrder> : ServiceBase<TOrder>, IOrders, IDisposable
        where TKey : notnull, IComparable<TKey>
        where TOrder : class, new()
    {
        public const int MaxOrders = 100, MinOrders = 1;
        private static readonly string[] _names = { "first", "second", "third", "fourth", "fifth", "sixth", "seventh" };
        [ThreadStatic] internal static int t_depth;
        private readonly Func<int, bool> _check = x => x > 0;

        public event EventHandler<OrderArgs>? Placed;
        public event Action Cancelled
        {
            add { }
            remove { }
        }

        [JsonPropertyName("name")]
        public string Name { get; private set; } = "public int Fake { get; }";
        public int Count => _names.Length;
        public required TKey Key { get; init; }
        public abstract bool Open
        {
            get;
        }
        public TOrder this[int index, string? key = null]
        {
            get => default!;
            set { }
        }

        static OrderService() { }
        protected OrderService(TKey key, int limit = 3) : base(key) { Key = key; }
        ~OrderService() => Dispose();

        /// <summary>Places one.</summary>
        /// <param name="order">It.</param>
        [HttpPost("orders/{id}")]
        public async Task<IReadOnlyList<TOrder>> PlaceAsync<T>(
            [FromBody] T order, // what
            CancellationToken token = default, /* when */
            params string[] tags)
            where T : TOrder
        {
            int local = 1;
            static int Twice(int x) => x * 2;
            void Inner<U>(U u) where U : struct { }
            var s = $"void Fake2() {{ {local} }}";
            var v = @"class ""Fake3"" { }";
            return await Task.FromResult(new List<TOrder>());
        }

        public override string ToString() => Name;
        public abstract void Cancel(TKey key);
        partial void OnPlaced();
        [DllImport("native.dll")] private static extern int native_call(IntPtr handle);
        void IDisposable.Dispose() { }
        int IOrders.Total { get; }

        public static OrderService<TKey, TOrder> operator +(OrderService<TKey, TOrder> a, int b) => a;
        public static bool operator ==(OrderService<TKey, TOrder> a, object b) { return true; }
        public static implicit operator int(OrderService<TKey, TOrder> a) => 1;
        public static explicit operator string(OrderService<TKey, TOrder> a) { return ""; }

        protected enum State : byte { New, Paid = 2 }
        private sealed class Entry { internal int Age; public Entry() { } }
        public delegate void Handler<in T>(T item, ref int count);

#if DEBUG
        private void Trace(string text) { }
#else
        private void Trace(string text, int level) { }
#endif
    }

    public interface IOrders : IEnumerable<int>
    {
        int Total { get; }
        string this[int i] { get; set; }
        event EventHandler Changed;
        void Clear();
        static virtual int Zero() => 0;
    }

    public record Person(string First, [property: Key] string Last = "x") : Base(First)
    {
        public int Age() => 1;
    }
    public readonly record struct Point(double X, double Y);
    public ref struct Span { public int A, B; }
    public static class Extensions { public static T Also<T>(this T self, Action<T> action) { return self; } }
    internal class Primary(int id, ILogger log) : Base(id), IOrders;
    [Flags] public enum Colours { None = 0, Red = 1 }
}
