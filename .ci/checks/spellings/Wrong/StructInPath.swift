// error: Interpolate text, a number or an identifier, such as a property of the value.
import Networking

struct User {
    var id = 42
}

func wrong(user: User) -> HTTPRequestData {
    .get("users/\(user)")
}
