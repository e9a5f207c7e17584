// error: Give the values a type: [String: String], or a literal of QueryValue values.
import Networking

func wrong(parameters: [String: Any]) -> HTTPRequestData {
    .post("login", body: .form(parameters))
}
