// error: Declare 'var method: HTTPRequest.Method', for example { .post }.
import Foundation
import HTTPTypes
import Networking

struct SignIn: Endpoint {
    typealias Response = Void
    let name: String

    var path: RequestPath { "login" }
    var method: String { "POST" }
}
