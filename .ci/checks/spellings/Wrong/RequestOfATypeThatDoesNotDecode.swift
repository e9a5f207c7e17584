// error: Conform the response type to Decodable
import Networking

struct Page: Sendable {}

func wrong() -> Request<Page> {
    Request(.get("page"))
}
