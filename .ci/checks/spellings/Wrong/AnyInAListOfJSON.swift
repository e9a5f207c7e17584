// error: Pass an array of encodable elements of one type
import Networking

func wrong(elements: [Any]) -> HTTPRequestData {
    .post("users", body: .json(elements))
}
