// error: Conform the response type to Decodable
import Networking

struct Page: Sendable {}

extension Request where Response == Page {
    static var page: Self { .get("page") }
}
