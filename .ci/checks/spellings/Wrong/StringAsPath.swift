// error: Write RequestPath(path), or interpolate its values into a literal.
import Networking

func wrong(path: String) -> HTTPRequestData {
    .get(path)
}
