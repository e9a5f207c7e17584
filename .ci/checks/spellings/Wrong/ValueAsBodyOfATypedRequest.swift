// error: Write body: .json(value), .form(fields) or .data(bytes).
import Networking

func wrong(fields: [String: String]) -> Request<[Int]> {
    .put("pages", body: fields)
}
