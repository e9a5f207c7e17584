// error: Write query: RequestQuery(query).
import Networking

func wrong(parameters: [String: String]) -> HTTPRequestData {
    .get("users", query: parameters)
}
