// error: QueryValue
import Networking

struct Filter {}

func wrong(filter: Filter) -> HTTPRequestData {
    .get("users", query: ["filter": filter])
}
