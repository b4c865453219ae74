// Nodes of a scene, and what is drawn of them.
#include <functional>
#include <string>
#include <vector>

#define SCENE_MAX_DEPTH 64
#define SCENE_CHECK(condition, text) \
  do { if (!(condition)) throw std::logic_error(text); } while (false)

namespace scene::detail {

template <typename T>
concept Drawable = requires(T a) { a.draw(); };

template <typename T, int N = 3> struct Traits;
template <> struct Traits<float, 3> { static constexpr int size = 3; };

inline namespace v2 {
constexpr double epsilon = 1e-9;
}  // namespace v2

namespace {
int hidden_counter = 0;
}

}  // namespace scene::detail

namespace scene {

class Renderer;
enum class Blend : unsigned char { None, Add };
enum Flags { Visible = 1, Locked = 2 };

/**
 * A point in space.
 */
struct Point {
  double x = 0, y = 0;
  unsigned layer : 4;
  static const Point origin;
  bool operator==(const Point& other) const = default;
  Point& operator+=(const Point& other);
  friend Point operator-(Point a, const Point& b) { return a -= b; }
  friend std::ostream& operator<<(std::ostream& out, const Point& p);
};

/// One node.
class SCENE_API [[nodiscard]] Node : public std::enable_shared_from_this<Node>, private Noncopyable {
 public:
  using Ptr = std::shared_ptr<Node>;
  typedef void (*Visitor)(const Node&);
  enum class State { Fresh, Old };

  Node();
  explicit Node(std::string name, Point at = {}, std::vector<int> tags = {1, 2}) noexcept(false)
      : name_(std::move(name)), at_{at} {}
  Node(const Node&) = delete;
  virtual ~Node() = default;

  [[nodiscard]] virtual double area(double scale /* 1 = as it is */) const = 0;
  auto children() const -> const std::vector<Ptr>&;
  explicit operator bool() const noexcept { return !name_.empty(); }
  operator const char*() const;
  Node& operator[](std::size_t index);
  void operator()(int times) &&;
  static void* operator new(std::size_t size);

  template <typename Visit, typename... Args>
    requires std::invocable<Visit, Args...>
  void each(Visit&& visit, Args&&... args) {
    struct Local { int depth; void down() {} };
    auto step = [&](Node& node) { return node.at_; };
    Point not_a_function(at_);
  }
  SCENE_INLINE bool visible() const SCENE_NOEXCEPT { return flags_ & Visible; }

 protected:
  struct Impl;
  class Cache {
    int hits_{0};
    void drop(),
        trim(int to);
  };
  struct { int width, height; } size_;
  union { int i; float f; };

 private:
  static inline int alive_ = 0;
  std::string name_ = "class Fake { void f(); }";
  std::function<void(int)> on_change_ = [](int) {};
  void (*callback_)(Node*, int) = nullptr;
  Point at_;
};

template <typename T>
class Pool final {
  template <typename U> friend class Pool;
  template <class... Args> T* make(Args&&... args);
  T items_[16];
};

template <typename T> template <class... Args>
T* Pool<T>::make(Args&&... args) { return new T(std::forward<Args>(args)...); }

Node::Node() : Node("") {}
const Point Point::origin{};
auto Node::children() const -> const std::vector<Ptr>& { static std::vector<Ptr> none; return none; }
Node::operator const char*() const { return name_.c_str(); }
Point& Point::operator+=(const Point& other) {
  x += other.x;
  return *this;
}
struct Node::Impl { int a; };

template <typename T = int> using List = std::vector<T>;
template <typename T> constexpr bool is_node = std::is_base_of_v<Node, T>;
template <typename T> [[deprecated("use draw")]] inline T paint(T&& value, const char* with = R"x(a ")x") { return value; }
template <> inline int paint<int>(int&& value, const char*) { return value; }

long double operator""_px(long double value) { return value; }
SCENE_API void register_all(int (*hook)(const char*), ...);
extern "C" int scene_version(void);
extern "C" {
struct scene_c { int id; };
void scene_free(struct scene_c* scene) { delete scene; }
}

}  // namespace scene

int main(int argc, char** argv) try { return 0; } catch (...) { return 1; }
