// error: Write query: RequestQuery(query).
import Networking

func wrong(parameters: [String: Int?]) -> Request<[Int]> {
    .post("users", query: parameters)
}
