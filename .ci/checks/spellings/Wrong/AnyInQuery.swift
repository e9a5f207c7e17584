// error: Give the values a type: [String: String], or a literal of QueryValue values.
import Networking

func wrong(parameters: [String: Any]) -> HTTPRequestData {
    .get("users", query: RequestQuery(parameters))
}
