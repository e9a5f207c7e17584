// error: Declare 'var body: RequestBody?', for example { .json(value) }.
import Foundation
import HTTPTypes
import Networking

struct SignIn: Endpoint {
    typealias Response = Void
    let name: String

    var path: RequestPath { "login" }
    var body: RequestBody { .json(["user": name]) }
}
