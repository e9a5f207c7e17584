// error: 'Encodable'
import Networking

struct Page: Sendable {}

func wrong(page: Page) -> HTTPRequestData {
    .post("pages", body: .json(page))
}
