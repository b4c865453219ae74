<!DOCTYPE html>
<p>function not_php() {}</p>
<?php

declare(strict_types=1);

namespace Shop\Catalogue;

use Shop\Money;
use function array_map;

const PAGE_SIZE = 20;
const FIRST = 1, LAST = 99;
define('CATALOGUE_ROOT', __DIR__);

/**
 * What can be sold.
 *
 * @template T of Money
 */
#[Entity(table: 'items')]
#[Cached]
abstract class Item extends Model implements \JsonSerializable, HasPrice
{
    use Priced, Named {
        Priced::label insteadof Named;
    }

    public const STATES = ['new', 'used'];
    protected const int LOW = 1, HIGH = 9;
    #[Column('sku')]
    public readonly string $sku;
    private ?Money $price = null;
    protected static array $cache = [], $index;
    var $legacy = "class Fake { function no() {} }";

    // The label with its price.
    public string $label {
        get => $this->name . $this->price;
        set(string $value) { $this->name = $value; }
    }

    /** Makes an item. */
    public function __construct(
        private readonly string $name, // as shown
        #[SensitiveParameter] protected int|float $weight = 1.5,
        Money ...$prices,
    ) {
        $this->sku = self::next();
    }

    # Loads one.
    #[Pure]
    public static function &load(array $options = ['deep' => true], ?self $parent = null): ?static
    {
        return self::$cache[0];
    }

    abstract protected function tax(): Money;

    final public function jsonSerialize(): array { return ['a' => 'function b() {}']; }

    private function visit(callable $with): \Generator
    {
        $each = static function (Item $item) use ($with): bool {
            return $with($item);
        };
        $twice = fn(int $x): int => $x * 2;
        yield $each;
    }

    public function __destruct() {}
}

interface HasPrice extends \Stringable, Comparable
{
    const CURRENCY = 'EUR';

    /** The price. */
    public function price(bool $net = false): Money;
}

trait Priced
{
    private int $cents = 0;
    abstract public function label(): string;
    public function price(bool $net = false): Money { return new Money($this->cents); }
}

/** How an item is. */
enum State: string implements HasLabel
{
    case New = 'new';
    case Used = 'used';

    const Default = self::New;

    public static function parse(string $text): self
    {
        return self::from($text);
    }

    public function label(): string
    {
        return match ($this) {
            self::New => 'New',
            self::Used => 'Used',
        };
    }
}

final readonly class Price { public function __construct(public int $cents = 0, public string $currency = 'EUR') {} }

/**
 * Finds items.
 */
function find_items(string $query, int &$total, string ...$tags): array
{
    function inner_helper() { return <<<SQL
        function not_a_function() {}
        SQL; }
    return [];
}

if (!function_exists('Shop\Catalogue\größe')) {
    function größe(Item $item): int { return 1; }
}

$format = function (Item $item, string $as = '{name}') use (&$total): string { return ''; };
$double = static fn(int $n): int => $n * 2;
$cache = new class(3) extends ArrayCache implements \Countable {
    private array $kept = [];

    public function count(): int { return 0; }
};
$page = $_GET['page'] ?? 1;

return new class extends Migration {
    public function up(): void {}
};
?>
<ul><?php foreach ($items as $item): ?><li><?= $item->label ?></li><?php endforeach; ?></ul>
