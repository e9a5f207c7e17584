// error: Unwrap the value: a path cannot contain an optional.
import Networking

func wrong(id: Int?) -> HTTPRequestData {
    .get("users/\(id)")
}
