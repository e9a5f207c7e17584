// error: Pass a literal of encodable values
import Networking

func wrong(parameters: [String: Any]) -> HTTPRequestData {
    .post("users", body: .json(parameters))
}
