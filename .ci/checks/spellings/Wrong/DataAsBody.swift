// error: Write body: .json(value), .form(fields) or .data(bytes).
import Foundation
import Networking

func wrong(data: Data) -> HTTPRequestData {
    .patch("pages", body: data)
}
