// error: Write body: .json(value), .form(fields) or .data(bytes).
import Networking

struct Page: Codable, Sendable {}

func wrong(page: Page) -> HTTPRequestData {
    .post("pages", body: page)
}
