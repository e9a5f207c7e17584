// error: Declare 'var decoder: (any BodyDecoder)?'.
import Foundation
import HTTPTypes
import Networking

struct SignIn: Endpoint {
    typealias Response = Void
    let name: String

    var path: RequestPath { "login" }
    var decoder: JSONDecoder { JSONDecoder() }
}
