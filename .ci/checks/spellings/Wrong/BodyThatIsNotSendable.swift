// error: 'Sendable'
import Networking

final class Page: Encodable {
    var title = ""
}

func wrong(page: Page) -> HTTPRequestData {
    .post("pages", body: .json(page))
}
