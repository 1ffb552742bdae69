"""Function words of English, Spanish and Portuguese: they join and grade content, so text search passes over them.

Written as the lexer leaves them: lower case, without accents, contractions without their apostrophe. "may" is absent,
because it is a month as well.
"""

from __future__ import annotations

from collections.abc import Mapping

_ENGLISH = """
    a an the this that these those some any no none each every either neither both all few many much more most
    several another other others such own same enough

    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones oneself someone somebody something anyone anybody
    anything everyone everybody everything nobody nothing

    am is are was were be been being have has had having do does did doing can could will would shall should might must
    ought cannot dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt cant couldnt wont wouldnt shouldnt mustnt
    aint im ive id youre youve youd hes shes theyre theyve theyd thats whats lets gonna

    what which who whos whom whose when where why how whether whatever whichever whoever

    of to in on at by for with from into onto upon about against between among through during before after above below
    over under within without toward towards via per up down out off as than

    and or but nor so if because while although though unless until since then else also too very just only even not
    there here now yet still again ever quite rather really well oh ok okay hey hi hello

    s t re ve ll d m
"""

_SPANISH = """
    el la los las lo un una unos unas al del este esta estos estas esto ese esa esos esas eso aquel aquella aquellos
    aquellas aquello algun alguno alguna algunos algunas ningun ninguno ninguna todo toda todos todas cada otro otra
    otros otras mismo misma mismos mismas mucho mucha muchos muchas poco poca pocos pocas tan tanto tanta tal tales
    cualquier algo nada alguien nadie

    yo me mi mis mio mia mios mias conmigo tu te ti tus tuyo tuya contigo usted ustedes ella ello ellos ellas se si su
    sus suyo suya suyos suyas le les nos nosotros nosotras nuestro nuestra nuestros nuestras vos os vosotros vuestro
    vuestra

    ser soy eres es somos son era eras eramos eran fui fue fuiste fuimos fueron sea sean siendo sido seria estar estoy
    estamos estan estaba estaban estuve estuvo esten estado haber he has ha hemos han habia habian hubo haya hay habra
    habria habido tener tengo tienes tiene tenemos tienen tenia tuvo poder puedo puedes puede podemos pueden podria
    podia hacer hago haces hace hacen hizo hice

    que quien quienes cual cuales cuando donde adonde como cuanto cuanta cuantos cuantas porque cuyo cuya

    a ante bajo con contra de desde durante en entre hacia hasta para por segun sin sobre tras

    y e o u ni pero sino mas aunque pues entonces asi tambien tampoco no ya muy menos solo aun aqui ahi alli alla ahora
    luego despues antes siempre nunca hola
"""

_PORTUGUESE = """
    o a os as um uma uns umas ao aos do da dos das no na nos nas pelo pela pelos pelas dum duma num numa nuns numas
    deste desta destes destas disto desse dessa desses dessas disso daquele daquela daqueles daquelas neste nesta nestes
    nestas nisto nesse nessa nesses nessas nisso naquele naquela dele dela deles delas nele nela neles nelas este esta
    estes estas isto esse essa esses essas isso aquele aquela aqueles aquelas aquilo algum alguma alguns algumas nenhum
    nenhuma todo toda todos todas tudo cada outro outra outros outras mesmo mesma mesmos mesmas muito muita muitos
    muitas pouco pouca poucos poucas tao tanto tanta tal tais qualquer algo nada alguem ninguem

    eu me mim comigo meu minha meus minhas tu te ti contigo teu tua teus tuas voce voces vc vcs ele ela eles elas se si
    seu sua seus suas lhe lhes conosco nosso nossa nossos nossas vos

    ser sou es e somos sao era eras eramos eram fui foi fomos foram seja sejam sendo sido seria seriam estar estou
    estamos estao estava estavam esteve esteja estejam estando to ta ter tenho tem temos tinha tinham teve tiveram tenha
    tendo haver ha houve havia haja poder posso pode podemos podem podia poderia vou vai vamos vao fazer faz fez faco

    que quem qual quais quando onde aonde como quanto quanta quantos quantas porque cujo cuja pq cade

    ante ate com contra de desde durante em entre para pra pro per perante por sem sob sobre apos

    ou nem mas porem pois entao assim tambem nao sim ja mais menos so ainda ai aqui ali la agora depois antes sempre
    nunca embora enquanto oi ola

    d
"""

STOP_WORDS: Mapping[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
    "pt": frozenset(_PORTUGUESE.split()),
    "other": frozenset(),
}
"""By language of the text. "other": nothing is known about its words, so none is dropped."""

ANY_STOP_WORD = frozenset().union(*STOP_WORDS.values())
